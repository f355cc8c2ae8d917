package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
)

type contact struct {
	Name string `json:"name"`
	Age  int    `json:"age" jsonschema:"minimum=0,maximum=130"`
}

// How do I get an answer as a Go value?
//
// Ask for its type. The model is given the schema of the type; an answer that does not fit is sent back to it, twice at
// most, with what is wrong. The last error wraps a `*structured.InvalidError`.
func Example_typed_answer() {
	agent := must(weft.New(weft.Config{Model: answers(
		call("final_answer", `{"name":"Ana","age":"old"}`), // is sent back
		call("final_answer", `{"name":"Ana","age":41}`),
	)}))
	got := must(weft.Ask[contact](context.Background(), agent, "Who is the customer?"))
	fmt.Println(got.Name, got.Age)
	// Output: Ana 41
}
