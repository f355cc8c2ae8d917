package howto

import (
	"context"
	"fmt"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/schema"
)

// Do tools run at the same time?
//
// The calls of one answer do, and their results come as they are ready; so the functions of tools must be safe for
// concurrent use. One after the other they run with `ToolsConfig.ExecuteSequentially`, in Adjust.
func Example_parallel_tools() {
	slow := weft.Func("slow", "Takes its time.", func(context.Context, struct{}) (string, error) {
		time.Sleep(50 * time.Millisecond)
		return "done", nil
	})
	a, b := call("slow", `{}`), call("slow", `{}`)
	a.ID, b.ID = "1", "2"
	agent := must(weft.New(weft.Config{Model: answers([]schema.ToolCall{a, b}, "Both."), Tools: []weft.Tool{slow}}))
	began := time.Now()
	fmt.Println(must(agent.Ask(context.Background(), "Twice.")), time.Since(began) < 95*time.Millisecond)
	// Output: Both. true
}
