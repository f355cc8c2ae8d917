// Command middleware shows a middleware with two hooks: one that gives the model the date before each turn, and one
// that measures every tool call.
//
//	go run ./examples/middleware
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

// office is a middleware. It embeds the base, which has every hook and does nothing in it, and writes two of its own.
type office struct {
	*adk.BaseChatModelAgentMiddleware
	today string
	// calls belongs to the middleware and so to all runs at once: it must be safe for concurrent use.
	calls atomic.Int64
}

// noteKey marks the message of this middleware, so that it is not added a second time.
const noteKey = "office_note"

// BeforeModelRewriteState puts the date into the history, once: what it returns is kept, and each turn begins with it.
func (o *office) BeforeModelRewriteState(
	ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	for _, m := range state.Messages {
		if m.Extra[noteKey] != nil {
			return ctx, state, nil
		}
	}
	note := schema.SystemMessage("Today is " + o.today + ".")
	note.Extra = map[string]any{noteKey: true}
	// The slice may be appended to, or replaced; messages that are in it already must not be changed.
	state.Messages = append([]*schema.Message{note}, state.Messages...)
	return ctx, state, nil
}

// WrapInvokableToolCall is asked for each call of a tool, and returns what is called in its place.
func (o *office) WrapInvokableToolCall(
	_ context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext,
) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		n := o.calls.Add(1)
		result, err := next(ctx, arguments, opts...)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s (call %d of %s)", result, n, call.Name), nil
	}, nil
}

// answer is the demo model: it looks up a meeting and repeats what it read about the date.
func answer(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
	if history[len(history)-1].Role == schema.User {
		return demo.Script(demo.Calls(demo.Call("calendar", `{"person":"Ada"}`)))(ctx, history)
	}
	for _, m := range history {
		if m.Role == schema.System {
			return demo.Script(demo.Says("The system says: "+m.Content+" The calendar says: {results}"))(ctx, history)
		}
	}
	return schema.AssistantMessage("I do not know what day it is.", nil), nil
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	calendar, err := utils.InferTool("calendar", "Tells when a person has time.",
		func(_ context.Context, in struct {
			Person string `json:"person"`
		}) (string, error) {
			return in.Person + " has time on Thursday", nil
		})
	if err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:  "assistant",
		Model: &demo.Model{Answer: answer},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{calendar}},
			ReportMistakes:  true,
		},
		Handlers: []adk.ChatModelAgentMiddleware{&office{today: "Monday"}},
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	_, err = demo.Print(out, runner.Query(ctx, "When can I meet Ada?"))
	return err
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
