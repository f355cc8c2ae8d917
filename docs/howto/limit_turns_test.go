package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
)

// How do I keep an agent from going round in circles?
//
// MaxTurns limits how often the model is called for one question: 20 times, if you say nothing. What comes then is an
// error, or the LimitAnswer if there is one.
func Example_limit_turns() {
	look := weft.Func("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "nothing", nil })
	config := weft.Config{Model: answers(call("look", `{}`), call("look", `{}`)), Tools: []weft.Tool{look}, MaxTurns: 2}
	_, err := must(weft.New(config)).Ask(context.Background(), "Find it.")
	fmt.Println(errors.Is(err, adk.ErrExceedMaxIterations))
	config.Model, config.LimitAnswer = answers(call("look", `{}`), call("look", `{}`)), "I have not found it."
	fmt.Println(must(must(weft.New(config)).Ask(context.Background(), "Find it.")))
	// Output:
	// true
	// I have not found it.
}
