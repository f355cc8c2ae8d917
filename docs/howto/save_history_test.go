package howto

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft"
)

// How do I keep a history in a store of my own?
//
// Keep the messages of the answers, as JSON for example, and give them to the next question. What is wrong with a history
// is repaired: a call without a result, or a result without its call.
func Example_save_history() {
	ctx := context.Background()
	agent := must(weft.New(weft.Config{Model: answers("Lisbon.", "In 1147.")}))
	first := must(agent.Ask(ctx, "What is the capital of Portugal?"))
	saved := must(json.Marshal(first.Messages))

	var history []*weft.Message
	if err := json.Unmarshal(saved, &history); err != nil {
		fmt.Println(err)
	}
	fmt.Println(must(agent.Ask(ctx, "Since when?", weft.With(history...))))
	// Output: In 1147.
}
