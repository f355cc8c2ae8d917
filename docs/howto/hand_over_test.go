package howto

import (
	"context"
	"fmt"
	"log"

	"github.com/weftgo/weft"
)

// How do several agents share the work?
//
// Give one of them the others as Agents: it hands over to the one whose Description fits, and they may hand back. In a
// conversation, the next question goes to the one that has answered.
func Example_hand_over() {
	billing := must(weft.New(weft.Config{Name: "billing", Description: "Knows invoices.", Model: answers("It is paid.")}))
	desk := must(weft.New(weft.Config{
		Name: "desk", Agents: []*weft.Agent{billing},
		Model: answers(call("transfer_to_agent", `{"agent_name":"billing"}`)),
	}))
	for event, err := range desk.Stream(context.Background(), "Is my invoice paid?") {
		switch {
		case err != nil:
			log.Fatal(err)
		case event.Handover != "":
			fmt.Println(event.Agent, "hands over to", event.Handover)
		case event.Text != "":
			fmt.Println(event.Agent+":", event.Text)
		}
	}
	// Output:
	// desk hands over to billing
	// billing: It is paid.
}
