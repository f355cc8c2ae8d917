package howto

import (
	"context"
	"fmt"
	"time"

	"github.com/weftgo/weft"
)

// How do I limit how long things may take?
//
// A run as a whole with the context, the calls of tools with ToolTimeout, a request to a provider with the Timeout of its
// model. The model reads that a call was given up, and can answer without it. For a time of its own for each tool see
// docs/middleware-tooltimeout.md.
func Example_limit_time() {
	slow := weft.Func("slow", "Takes its time.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	agent := must(weft.New(weft.Config{
		Model: answers(call("slow", `{}`), "It takes too long."), Tools: []weft.Tool{slow}, ToolTimeout: 10 * time.Millisecond,
	}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(must(agent.Ask(ctx, "Hurry.")))
	// Output: It takes too long.
}
