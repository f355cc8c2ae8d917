// Command turnloop shows an agent that is spoken to while it works: the user changes their mind, the program is stopped
// in the middle of a turn, and continues with it after a restart.
//
//	go run ./examples/turnloop
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/turnloop"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// conversation holds the state that the loops before and after the restart share.
type conversation struct {
	out   io.Writer
	agent adk.Agent
	store adk.CheckPointStore
	// searching gets a value when the agent begins to search, answered when a turn has ended by itself.
	searching, answered chan struct{}
}

func newConversation(ctx context.Context, out io.Writer) (*conversation, error) {
	c := &conversation{out: out, store: checkpoint.NewMemoryStore(), searching: make(chan struct{}, 10),
		answered: make(chan struct{}, 10)}
	search, err := utils.InferTool("search", "Searches for offers.", func(ctx context.Context, in struct {
		What string `json:"what"`
	}) (string, error) {
		c.searching <- struct{}{}
		select {
		case <-time.After(100 * time.Millisecond):
			return "3 offers for " + in.What, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	if err != nil {
		return nil, err
	}
	c.agent, err = adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "travel",
		Model: &demo.Model{Answer: demo.Script(
			func(question string, _ []*schema.Message) *schema.Message {
				return demo.Calls(demo.Call("search", fmt.Sprintf(`{"what":%q}`, question)))(question, nil)
			},
			demo.Says("I have {results}."),
		)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{search}},
			ReportMistakes:  true,
		},
	})
	return c, err
}

// newLoop makes a loop. Its functions are all called by one goroutine.
func (c *conversation) newLoop() *turnloop.TurnLoop[string] {
	return turnloop.NewTurnLoop(turnloop.TurnLoopConfig[string]{
		// GenInput plans a turn from what has been pushed: here from everything.
		GenInput: func(_ context.Context, _ *turnloop.TurnLoop[string],
			items []string,
		) (*turnloop.GenInputResult[string], error) {
			fmt.Fprintf(c.out, "A turn begins with: %s\n", strings.Join(items, ", "))
			input := &adk.AgentInput{}
			for _, item := range items {
				input.Messages = append(input.Messages, schema.UserMessage(item))
			}
			return &turnloop.GenInputResult[string]{Input: input, Consumed: items}, nil
		},
		// GenResume plans the turn that continues with the one that was stopped.
		GenResume: func(_ context.Context, _ *turnloop.TurnLoop[string],
			interrupted, unhandled, fresh []string,
		) (*turnloop.GenResumeResult[string], error) {
			fmt.Fprintf(c.out, "A turn continues with: %s; %s will have to wait\n", strings.Join(interrupted, ", "),
				strings.Join(unhandled, ", "))
			return &turnloop.GenResumeResult[string]{Consumed: interrupted, Remaining: append(unhandled, fresh...)}, nil
		},
		PrepareAgent: func(context.Context, *turnloop.TurnLoop[string], []string) (adk.Agent, error) { return c.agent, nil },
		OnAgentEvents: func(_ context.Context, _ *turnloop.TurnContext[string],
			events *adk.AsyncIterator[*adk.AgentEvent],
		) error {
			_, err := demo.Print(c.out, events)
			var stopped *adk.CancelError
			if errors.As(err, &stopped) {
				fmt.Fprintln(c.out, "The turn has been stopped.")
				return err
			}
			c.answered <- struct{}{}
			return err
		},
		Store:        c.store,
		CheckpointID: "conversation-1",
	})
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	c, err := newConversation(ctx, out)
	if err != nil {
		return err
	}
	loop := c.newLoop()
	loop.Push("flights to Porto")
	loop.Run(ctx)

	<-c.searching
	// The user changes their mind. The turn ends when the search has ended; its items are done with.
	loop.Push("no, trains to Porto", turnloop.WithPreempt[string](adk.WithAgentCancelMode(adk.CancelAfterToolCalls)))

	<-c.searching
	loop.Push("a hotel in Porto") // waits for its turn
	// The program is to end: at the next point where nothing is lost.
	loop.Stop(adk.WithGraceful(), turnloop.WithStopCause("restart"))
	exit := loop.Wait()
	fmt.Fprintf(out, "\nThe loop has ended (%s). It has saved %q and %q.\n", exit.StopCause, exit.InterruptedItems,
		exit.UnhandledItems)
	if exit.CheckpointErr != nil {
		return exit.CheckpointErr
	}

	fmt.Fprint(out, "After the restart:\n\n")
	loop = c.newLoop()
	loop.Run(ctx)
	<-c.answered
	<-c.answered
	loop.Stop()
	return loop.Wait().ExitReason
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
