package howto

import (
	"context"
	"fmt"
	"log"

	"github.com/weftgo/weft"
)

// How do I show an answer while it is written?
//
// Read the run in a loop. Text has the pieces; a break ends the run, with everything in it. An error is the last thing
// that the loop gets. If Again is set, discard what you have shown of this answer: it is streamed again.
func Example_stream() {
	agent := must(weft.New(weft.Config{Model: answers([]string{"one ", "two ", "three"})}))
	for event, err := range agent.Stream(context.Background(), "Count to three.") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.Text)
	}
	// Output: one two three
}
