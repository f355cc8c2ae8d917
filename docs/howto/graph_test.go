package howto

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/compose"
)

// How do I connect functions to a pipeline?
//
// With package compose: a chain for steps one after the other, a graph for branches and loops, a workflow for fields that
// go separate ways. See docs/graphs.md.
func Example_graph() {
	ctx := context.Background()
	chain := compose.NewChain[string, int]()
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, s string) ([]string, error) { return strings.Fields(s), nil }))
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, words []string) (int, error) { return len(words), nil }))
	count := must(chain.Compile(ctx))
	fmt.Println(must(count.Invoke(ctx, "three little words")))
	// Output: 3
}
