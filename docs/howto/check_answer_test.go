package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/middlewares/structured"
)

type order struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// How do I check an answer before I take it?
//
// With a structured output of your own, whose Check the model has to satisfy. It sees the error and tries again.
func Example_check_answer() {
	ctx := context.Background()
	output := must(structured.New[order](&structured.Config[order]{
		Check: func(_ context.Context, o order) error {
			if o.Count == 0 {
				return errors.New("nobody orders nothing: ask for the count")
			}
			return nil
		},
	}))
	agent := must(weft.New(weft.Config{
		Model:       answers(call("final_answer", `{"item":"tea","count":0}`), call("final_answer", `{"item":"tea","count":2}`)),
		Middlewares: []weft.Middleware{output.Handler()},
	}))
	answer := must(agent.Ask(ctx, "Two cups of tea."))
	fmt.Println(must(output.Parse(ctx, answer.Text)))
	// Output: {tea 2}
}
