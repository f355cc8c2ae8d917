package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/components/tool"
)

// How does a tool ask the user something?
//
// It interrupts its call with a question, and is called again with the reply. Whatever was done before the interrupt is
// done again, so ask first.
func Example_ask_user() {
	size := weft.Func("size", "Asks the customer for the size.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, replied, size := tool.GetResumeContext[string](ctx); replied {
			return size, nil
		}
		return "", tool.Interrupt(ctx, "Which size?")
	})
	agent := must(weft.New(weft.Config{Model: answers(call("size", `{}`), "Ordered."), Tools: []weft.Tool{size}}))
	answer := must(agent.Ask(context.Background(), "Order me a shirt."))
	fmt.Println(answer.Pending[0].Text)
	answer = must(answer.Reply(context.Background(), answer.Pending[0].Reply("XL")))
	fmt.Println(answer.Text)
	// Output:
	// Which size?
	// Ordered.
}
