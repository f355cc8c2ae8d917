// Structured gets the answer as a value of a Go type. What does not fit its schema the model has to mend.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

type review struct {
	Stars  int      `json:"stars" jsonschema:"minimum=1,maximum=5"`
	Faults []string `json:"faults"`
}

func main() {
	model := llm.Model(demo.Calls(demo.Call("final_answer", `{"stars":2,"faults":["the lid leaks"]}`)))
	agent, err := weft.New(weft.Config{Model: model})
	if err != nil {
		log.Fatal(err)
	}
	got, err := weft.Ask[review](context.Background(), agent, "Summarize: the kettle is fine, but its lid leaks. 2 stars.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of 5 stars, faults: %q\n", got.Stars, got.Faults)
}
