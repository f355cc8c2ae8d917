package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

type payment struct {
	Euros int `json:"euros"`
}

// How do I approve a tool call before it runs?
//
// Name the tool in Approve. The answer has the question then; reply to it with Approve, Edit (other arguments) or Reject
// (the model reads why). A decision is good for one call, once.
func Example_approve() {
	pay := weft.Func("pay", "Pays money.", func(_ context.Context, in payment) (string, error) {
		return fmt.Sprintf("paid %d euros", in.Euros), nil
	})
	agent := must(weft.New(weft.Config{
		Model: answers(call("pay", `{"euros":40}`), "Done."), Tools: []weft.Tool{pay}, Approve: []string{"pay"},
	}))
	answer := must(agent.Ask(context.Background(), "Pay Ana 40 euros."))
	fmt.Println(answer.Pending[0].Text)
	answer = must(answer.Reply(context.Background(), answer.Pending[0].Approve()))
	fmt.Println(answer.Messages[2].Content, "-", answer.Text)
	// Output:
	// May pay run with {"euros":40}?
	// paid 40 euros - Done.
}
