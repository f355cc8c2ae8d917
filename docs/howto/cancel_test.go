package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
)

// How do I stop a run?
//
// Cancel its context; or, in a loop over Stream, break. Either way the model's request ends, tools see the end of their
// context, and nothing is left behind. To stop at a point where the run can continue later, see docs/cancel.md.
func Example_cancel() {
	agent := must(weft.New(weft.Config{Model: answers([]string{"a", "b", "c"}, "never asked for")}))
	for event := range agent.Stream(context.Background(), "Recite the alphabet.") {
		fmt.Println(event.Text)
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := agent.Ask(ctx, "Again.")
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// a
	// true
}
