package howto

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
)

// How do I do something around every tool call?
//
// With a middleware: `adk.WrapEveryToolCall` makes one of a function. For other hooks embed
// `adk.BaseChatModelAgentMiddleware` and override the methods that you need (docs/middlewares.md).
func Example_middleware() {
	redact := adk.WrapEveryToolCall(func(
		ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
	) (*compose.ToolCallOutput, error) {
		out, err := next(ctx, call)
		if err == nil {
			out.Text = strings.ReplaceAll(out.Text, "hunter2", "***")
		}
		return out, err
	})
	settings := weft.Func("settings", "Shows settings.", func(context.Context, struct{}) (string, error) {
		return "password=hunter2", nil
	})
	agent := must(weft.New(weft.Config{
		Model: answers(call("settings", `{}`), "I have seen them."), Tools: []weft.Tool{settings},
		Middlewares: []weft.Middleware{redact},
	}))
	fmt.Println(must(agent.Ask(context.Background(), "Show the settings.")).Messages[2].Content)
	// Output: password=***
}
