package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/schema"
)

// How do I show what a model thinks?
//
// Models that show it send it apart from the text. How much they think is a setting of the provider's module.
func Example_reasoning() {
	agent := must(weft.New(weft.Config{Model: answers(
		&schema.Message{Role: schema.Assistant, ReasoningContent: "It is in Portugal.", Content: "Lisbon."})}))
	for event, err := range agent.Stream(context.Background(), "Where is the Tejo's mouth?") {
		switch {
		case err != nil:
			fmt.Println(err)
		case event.Reasoning != "":
			fmt.Println("thinks:", event.Reasoning)
		case event.Text != "":
			fmt.Println(event.Text)
		}
	}
	// Output:
	// thinks: It is in Portugal.
	// Lisbon.
}
