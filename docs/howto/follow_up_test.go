package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

// How do I ask a follow-up without a store?
//
// Give the answer that you continue behind. Nothing is kept anywhere but in the answers.
func Example_follow_up() {
	agent := must(weft.New(weft.Config{Model: answers("Lisbon.", "Half a million.")}))
	first := must(agent.Ask(context.Background(), "What is the capital of Portugal?"))
	second := must(agent.Ask(context.Background(), "And how many people live there?", weft.After(first)))
	fmt.Println(second.Text)
	// Output: Half a million.
}
