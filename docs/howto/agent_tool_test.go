package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

// How does an agent use another one as a tool, and stay in control?
//
// As a tool. The other agent gets a request, works on it by itself, and its answer is the result of the call.
func Example_agent_tool() {
	researcher := must(weft.New(weft.Config{
		Name: "researcher", Description: "Finds things out.", Model: answers("The bridge is from 1932."),
	}))
	writer := must(weft.New(weft.Config{
		Model: answers(call("researcher", `{"request":"How old is the bridge?"}`), "It was built in 1932."),
		Tools: []weft.Tool{researcher.Tool()},
	}))
	fmt.Println(must(writer.Ask(context.Background(), "Write a line about the bridge.")))
	// Output: It was built in 1932.
}
