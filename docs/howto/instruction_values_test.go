package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
)

// How do I put values into the instruction?
//
// Write them in braces, and give them to the run. Tools find them with `adk.GetSessionValue`, so that what must not pass
// through the model, such as who is logged in, need not.
func Example_instruction_values() {
	whoami := weft.Func("whoami", "Says who the user is.", func(ctx context.Context, _ struct{}) (string, error) {
		user, _ := adk.GetSessionValue(ctx, "User")
		return fmt.Sprint(user), nil
	})
	agent := must(weft.New(weft.Config{
		Model: answers(call("whoami", `{}`), "Hello."), Instruction: "You talk to {User}.", Tools: []weft.Tool{whoami},
	}))
	answer := must(agent.Ask(context.Background(), "Who am I?", adk.WithSessionValues(map[string]any{"User": "Ana"})))
	fmt.Println(answer.Messages[2].Content)
	// Output: Ana
}
