// Command gate shows a middleware that reads an answer before it ends the run, and sends it back if it is not good
// enough.
//
//	go run ./examples/gate
package main

import (
	"context"
	"io"
	"log"
	"os"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// sourceGate lets no answer pass that does not name a source.
type sourceGate struct {
	*adk.BaseChatModelAgentMiddleware
}

const complaint = "Your answer names no source. Answer again, and say where you have it from."

// BeforeFinalAnswer is called with the answer as the last message. A rejected answer stays in the history, so that the
// model sees what was wrong with it. Turns are limited by MaxIterations: a gate that always rejects ends with an error.
func (*sourceGate) BeforeFinalAnswer(
	ctx context.Context, state *adk.ChatModelAgentState,
) (context.Context, adk.FinalAnswerDecision, *adk.ChatModelAgentState, error) {
	if strings.Contains(state.Messages[len(state.Messages)-1].Content, "Source:") {
		return ctx, adk.AcceptFinalAnswer, state, demo.Note(ctx, "the gate accepts the answer")
	}
	state.Messages = append(state.Messages, schema.UserMessage(complaint))
	return ctx, adk.RejectFinalAnswer, state, demo.Note(ctx, "the gate rejects the answer: it names no source")
}

// answer is the demo model: careless until it is corrected.
func answer(_ context.Context, history []*schema.Message) (*schema.Message, error) {
	text := "The bridge was built in 1932."
	if history[len(history)-1].Content == complaint {
		text += " Source: the plaque at its northern end."
	}
	return schema.AssistantMessage(text, nil), nil
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:          "historian",
		Model:         &demo.Model{Answer: answer},
		Handlers:      []adk.ChatModelAgentMiddleware{&sourceGate{}},
		MaxIterations: 4,
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	// Both answers are events: the reader sees the first one before the gate has judged it. The last one counts.
	_, err = demo.Print(out, runner.Query(ctx, "When was the bridge built?"))
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
