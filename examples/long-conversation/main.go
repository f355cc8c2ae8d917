// Command long-conversation talks to an agent until the history has grown too long for the model, and shows how it is
// replaced by a summary.
//
//	go run ./examples/long-conversation
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// limit is the number of tokens that a history may have. A real model's limit is a thousand times as high.
const limit = 400

// conversation is the history of a talk, which the application keeps between runs.
type conversation struct {
	out     io.Writer
	history []*schema.Message
	runner  *adk.Runner
}

func newConversation(ctx context.Context, out io.Writer) (*conversation, error) {
	c := &conversation{out: out}
	summarize, err := summarization.New(ctx, &summarization.Config{
		// A model that writes summaries. Here it always writes the same one.
		Model:   &demo.Model{Answer: demo.Script(demo.Says("The user plans a journey along the coast and has asked about some towns."))},
		Trigger: &summarization.TriggerCondition{ContextTokens: limit},
		// What the next run is to begin with is up to the application: it takes over the shorter history.
		Callback: func(_ context.Context, before, after adk.ChatModelAgentState) error {
			fmt.Fprintf(out, "  ! the history had %d tokens in %d messages; the summary has %d in %d\n",
				demo.Tokens(before.Messages), len(before.Messages), demo.Tokens(after.Messages), len(after.Messages))
			c.history = slices.Clone(after.Messages)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "guide",
		Model: &demo.Model{Answer: func(_ context.Context, history []*schema.Message) (*schema.Message, error) {
			return schema.AssistantMessage(lecture, nil), nil
		}},
		Handlers: []adk.ChatModelAgentMiddleware{summarize},
	})
	c.runner = adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	return c, err
}

const lecture = "There is a lot to say about this town. It lies on the coast, has an old harbour, a market hall and a " +
	"lighthouse, and the trains along the shore stop there every hour. Go in May, when the days are long and the hotels " +
	"are not full. Walk from the harbour to the lighthouse in the evening. Eat where the fishermen eat, on the north side."

// ask runs one question.
func (c *conversation) ask(ctx context.Context, question string) error {
	c.history = append(c.history, schema.UserMessage(question))
	for event := range c.runner.Run(ctx, c.history).All() {
		message, _, err := adk.GetMessage(event)
		if event.Err != nil || err != nil {
			return fmt.Errorf("%w %w", event.Err, err)
		}
		if message == nil {
			continue
		}
		usage := message.ResponseMeta.Usage
		fmt.Fprintf(c.out, "%s → %d tokens in, %d tokens out\n", question, usage.PromptTokens, usage.CompletionTokens)
		c.history = append(c.history, message)
	}
	return nil
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	c, err := newConversation(ctx, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The history may have %d tokens.\n\n", limit)
	for _, town := range []string{"Porto", "Aveiro", "Viana", "Nazaré", "Peniche", "Setúbal", "Sines", "Lagos"} {
		if err := c.ask(ctx, "Tell me about "+town+"."); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
