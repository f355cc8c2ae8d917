package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/schema"
)

// Do tools run at the same time?
//
// The calls of one answer do, and their results come as they are ready; so the functions of tools must be safe for
// concurrent use. One after the other they run with `ToolsConfig.ExecuteSequentially`, in Adjust.
func Example_parallel_tools() {
	here := make(chan string)
	meet := weft.Func("meet", "Meets the other one.", func(context.Context, struct{}) (string, error) {
		select { // each of two calls waits for the other one: one after the other they would never end
		case here <- "hello":
			return "I was first", nil
		case hello := <-here:
			return hello, nil
		}
	})
	a, b := call("meet", `{}`), call("meet", `{}`)
	a.ID, b.ID = "1", "2"
	agent := must(weft.New(weft.Config{Model: answers([]schema.ToolCall{a, b}, "They met."), Tools: []weft.Tool{meet}}))
	fmt.Println(must(agent.Ask(context.Background(), "Meet.")))
	// Output: They met.
}
