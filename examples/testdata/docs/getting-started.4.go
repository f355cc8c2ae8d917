package main

import (
	"context"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	for _, yes := range []bool{true, false} {
		paid := false
		pay := weft.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) {
			paid = true
			return "paid", nil
		})
		agent := drive.Weft(weft.Config{Tools: []weft.Tool{pay}, Approve: []string{"pay"}}, adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("Done."))
		chat := agent.Conversation(checkpoint.NewMemoryStore(), "ana")
		asked, err := chat.Ask(drive.Context(), "Pay.")
		drive.Check(err)
		drive.Equal(len(asked.Pending), 1)
		answer, err := decide(drive.Context(), chat, func(string) bool { return yes })
		drive.Check(err)
		drive.Equal(answer.Text, "Done.")
		drive.Equal(paid, yes)
	}
}
