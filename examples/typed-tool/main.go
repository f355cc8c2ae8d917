// Typed-tool makes a tool of a Go function, and prints the answer while it comes.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

type dice struct{ Sides int }

func roll(_ context.Context, in dice) (int, error) { return 1 + rand.N(in.Sides), nil }

func main() {
	model := llm.Model(demo.Calls(demo.Call("roll", `{"Sides":20}`)), demo.Says("You have rolled a {results}."))
	agent, err := weft.New(weft.Config{Model: model, Tools: []weft.Tool{weft.Func("roll", "Rolls a die.", roll)}})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range agent.Stream(context.Background(), "Roll a die with 20 sides.") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.Text)
	}
}
