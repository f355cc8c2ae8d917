package validhistory_test

import (
	"fmt"

	"github.com/weftgo/weft/adk/middlewares/validhistory"
	"github.com/weftgo/weft/schema"
)

func ExampleRepair() {
	cut := []*schema.Message{ // the beginning was cut off
		schema.ToolMessage("sunny", "call_1"),
		schema.AssistantMessage("It is sunny.", nil),
		schema.UserMessage("And tomorrow?"),
	}
	whole, problems := validhistory.Repair(cut, validhistory.Options{}, nil)
	fmt.Println(problems)
	fmt.Println(whole[0].Content)
	// Output:
	// [message 0: result answers no open call (tool "", call "call_1")]
	// It is sunny.
}
