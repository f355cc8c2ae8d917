package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/middlewares/summarization"
)

// What if a conversation becomes too long for the model?
//
// The summarization middleware replaces what is old by a summary, when there are too many tokens. See also
// docs/middleware-reduction.md, for results of tools that are too long.
func Example_long_history() {
	shorten := must(summarization.New(context.Background(), &summarization.Config{
		Model:   answers("They have talked about boats."),
		Trigger: &summarization.TriggerCondition{ContextMessages: 2},
	}))
	agent := must(weft.New(weft.Config{Model: answers("Ahoy.", "Boats."), Middlewares: []weft.Middleware{shorten}}))
	first := must(agent.Ask(context.Background(), "Let us talk about boats."))
	fmt.Println(must(agent.Ask(context.Background(), "What was it about?", weft.After(first))))
	// Output: Boats.
}
