package callbacks_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	utilcallbacks "github.com/weftgo/weft/utils/callbacks"
)

// Every call of a tool is a record: with names and durations, and nothing of arguments and results.
func ExampleNewSlogHandler() {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" { // differ each time
			return slog.Attr{}
		}
		return a
	}}))
	handler := utilcallbacks.NewSlogHandler(logger, nil) // callbacks.AppendGlobalHandlers(handler) for the process

	type question struct {
		City string `json:"city"`
	}
	weather, err := utils.InferTool("weather", "Says what the weather is.",
		func(context.Context, question) (string, error) { return "sunny", nil })
	if err != nil {
		panic(err)
	}
	chain := compose.NewChain[string, string]().AppendLambda(compose.InvokableLambda(
		func(ctx context.Context, arguments string) (string, error) {
			ctx = callbacks.ReuseHandlers(ctx, &callbacks.RunInfo{Name: "weather", Component: "Tool"})
			ctx = callbacks.OnStart(ctx, arguments)
			result, err := weather.InvokableRun(ctx, arguments)
			callbacks.OnEnd(ctx, result)
			return result, err
		}))
	run, err := chain.Compile(ctx)
	if err != nil {
		panic(err)
	}
	if _, err := run.Invoke(ctx, `{"city":"Rome"}`, compose.WithCallbacks(handler)); err != nil {
		panic(err)
	}
	// Output:
	// level=INFO msg="tool call" tool=weather
}
