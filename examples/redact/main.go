// Redact is one middleware that does two things a product needs around every tool: it logs the calls with slog, and it
// keeps secrets from the model.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

var secret = regexp.MustCompile(`(?i)(password|token)=\S+`)

// guard logs tool calls and redacts their results.
func guard(logger *slog.Logger) weft.Middleware {
	return adk.WrapEveryToolCall(func(
		ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
	) (*compose.ToolCallOutput, error) {
		began := time.Now()
		out, err := next(ctx, call)
		if err == nil && !out.Streams() {
			out.Text = secret.ReplaceAllString(out.Text, "$1=[redacted]")
		}
		logger.InfoContext(ctx, "tool call", "tool", call.Name, "id", call.CallID, "took", time.Since(began).Round(time.Millisecond), "err", err)
		return out, err
	})
}

func settings(context.Context, struct{}) (string, error) {
	return "host=db.example.com password=hunter2", nil
}

func main() {
	agent, err := weft.New(weft.Config{
		Model:       llm.Model(demo.Calls(demo.Call("settings", `{}`)), demo.Says("The settings are: {results}")),
		Tools:       []weft.Tool{weft.Func("settings", "Shows the settings of the database.", settings)},
		Middlewares: []weft.Middleware{guard(slog.New(slog.NewTextHandler(os.Stderr, nil)))},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(context.Background(), "What are the settings of the database, all of them?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
