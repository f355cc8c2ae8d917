package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft"
)

// What happens if a tool fails?
//
// The model reads the error, and can try something else. So it does after a call of a tool that there is not, or with
// arguments that do not fit; three such mistakes in a row end the run with an `*adk.ModelMistake`. To have an error end
// the run at once, give the agent a toolerrors middleware of your own (docs/middleware-toolerrors.md).
func Example_tool_error() {
	open := weft.Func("open", "Opens a door.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("the door is locked")
	})
	agent := must(weft.New(weft.Config{Model: answers(call("open", `{}`), "I cannot open it."), Tools: []weft.Tool{open}}))
	answer := must(agent.Ask(context.Background(), "Open the door."))
	fmt.Println(answer.Messages[2].Content)
	fmt.Println(answer.Text)
	// Output:
	// The call of the tool failed: the door is locked
	// I cannot open it.
}
