package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
)

// How does another model take over when one fails?
//
// Name it as a fallback. It also takes over in the middle of an answer: then an event with Again says that what was shown
// does not count. Models of providers try again by themselves before (docs/providers.md).
func Example_failover() {
	agent := must(weft.New(weft.Config{
		Model:     answers(errors.New("overloaded")),
		Fallbacks: []weft.Model{answers("I am here.")},
	}))
	fmt.Println(must(agent.Ask(context.Background(), "Is anybody there?")))
	// Output: I am here.
}
