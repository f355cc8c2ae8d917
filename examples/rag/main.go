// Rag answers questions out of documents: they are embedded into a vector store in a file, and the agent searches them
// with a tool.
//
//	go run ./examples/rag "How long may I send things back?"
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

var documents = []string{
	"Returns: goods can be sent back within 30 days. The customer pays the postage.",
	"Shipping: parcels leave on the day of the order, if it comes before noon.",
	"Warranty: what breaks within two years is repaired, or replaced.",
}

type query struct {
	Text string `json:"text" jsonschema:"description=what to look for"`
}

func main() {
	ctx := context.Background()
	store, err := openStore(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	search := weft.Func("search", "Searches the shop's documents.", func(ctx context.Context, in query) (string, error) {
		found, err := store.Retrieve(ctx, in.Text)
		var texts []string
		for _, d := range found {
			texts = append(texts, d.Content)
		}
		return strings.Join(texts, "\n"), err
	})
	agent, err := weft.New(weft.Config{
		Instruction: "Answer from the documents that you find, and from nothing else.",
		Model:       llm.Model(lookUp, demo.Says("I have found this: {results}")),
		Tools:       []weft.Tool{search},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(ctx, cmp.Or(strings.Join(os.Args[1:], " "), "How long may I send things back?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
