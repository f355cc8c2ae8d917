package howto

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/compose"
)

type text struct {
	Text string `json:"text"`
}

// How does an agent use a pipeline?
//
// Compile it once, and call it in a tool.
func Example_graph_tool() {
	ctx := context.Background()
	chain := compose.NewChain[string, string]()
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }))
	shout := must(chain.Compile(ctx))
	tool := weft.Func("shout", "Shouts a text.", func(ctx context.Context, in text) (string, error) { return shout.Invoke(ctx, in.Text) })
	agent := must(weft.New(weft.Config{Model: answers(call("shout", `{"text":"hi"}`), "Done."), Tools: []weft.Tool{tool}}))
	fmt.Println(must(agent.Ask(ctx, "Shout hi.")).Messages[2].Content)
	// Output: HI
}
