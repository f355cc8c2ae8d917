// Support-desk is four agents that share one conversation over several turns: the desk hands over to who knows best, and
// that one answers the next question, too, until it hands back.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

type number struct {
	Number int `json:"number" jsonschema:"description=number of the invoice"`
}

func invoice(_ context.Context, in number) (string, error) {
	return fmt.Sprintf("invoice %d: 40 euros, paid on Monday", in.Number), nil
}

func main() {
	member := func(name, description string, line demo.Line, tools ...weft.Tool) *weft.Agent {
		agent, err := weft.New(weft.Config{Name: name, Description: description, Model: llm.Model(line), Tools: tools})
		if err != nil {
			log.Fatal(err)
		}
		return agent
	}
	desk, err := weft.New(weft.Config{
		Name: "desk", Description: "Welcomes customers and finds out who can help.", Model: llm.Model(welcome),
		Agents: []*weft.Agent{
			member("billing", "Knows invoices and payments.", bills, weft.Func("invoice", "Looks an invoice up.", invoice)),
			member("tech-support", "Repairs what does not work.", demo.Says("Have you tried turning it off and on again?")),
			member("sales", "Sells.", demo.Says("For you it costs 99 euros.")),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	chat := desk.Conversation(checkpoint.NewMemoryStore(), "customer 7")
	questions := os.Args[1:]
	if len(questions) == 0 {
		questions = []string{"Hello", "Is my invoice 12 paid?", "And when?", "Thanks. Now my printer is broken."}
	}
	for _, question := range questions {
		fmt.Printf("\n> %s\n", question)
		for event, err := range chat.Stream(context.Background(), question) {
			switch {
			case err != nil:
				log.Fatal(err)
			case event.Handover != "":
				fmt.Printf("(%s hands over to %s)\n", event.Agent, event.Handover)
			case event.Answer != nil:
				fmt.Println(event.Answer.Text)
			}
		}
	}
}
