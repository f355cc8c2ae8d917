package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/tool"
	handlers "github.com/weftgo/weft/utils/callbacks"
)

// How do I watch models and tools at work?
//
// With callbacks: for one run as an option, for all with `callbacks.AppendGlobalHandlers`. `handlers.NewSlogHandler` logs
// everything. See docs/callbacks.md.
func Example_watch() {
	watch := handlers.NewHandlerHelper().Tool(&handlers.ToolCallbackHandler{
		OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *tool.CallbackInput) context.Context {
			fmt.Println("calling", info.Name, in.ArgumentsInJSON)
			return ctx
		},
	}).Handler()
	look := weft.Func("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "trees", nil })
	agent := must(weft.New(weft.Config{Model: answers(call("look", `{}`), "Trees."), Tools: []weft.Tool{look}}))
	fmt.Println(must(agent.Ask(context.Background(), "What is there?", adk.WithCallbacks(watch))))
	// Output:
	// calling look {}
	// Trees.
}
