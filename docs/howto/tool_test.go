package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

type place struct {
	City string `json:"city" jsonschema:"description=name of the city"`
	Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7,default=1"`
}

func forecast(_ context.Context, in place) (string, error) {
	return fmt.Sprintf("%d sunny days in %s", in.Days, in.City), nil
}

// How do I give an agent a tool?
//
// Make a tool of a function with `weft.Func`. The fields of its argument are what the model fills in, described by their
// tags. Arguments that do not fit go back to the model, and defaults are applied.
func Example_tool() {
	agent := must(weft.New(weft.Config{
		Model: answers(call("forecast", `{"city":"Porto"}`), "Sun."),
		Tools: []weft.Tool{weft.Func("forecast", "Tells the weather of the next days.", forecast)},
	}))
	answer := must(agent.Ask(context.Background(), "How is the weather in Porto?"))
	fmt.Println(answer.Messages[2].Content)
	fmt.Println(answer.Text)
	// Output:
	// 1 sunny days in Porto
	// Sun.
}
