package patchtoolcalls_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/patchtoolcalls"
	"github.com/weftgo/weft/schema"
)

func ExampleNew() {
	ctx := context.Background()
	patch, err := patchtoolcalls.New(ctx, nil)
	if err != nil {
		panic(err)
	}
	call := schema.ToolCall{ID: "call_1", Function: schema.FunctionCall{Name: "weather", Arguments: "{}"}}
	state := &adk.ChatModelAgentState{Messages: []*schema.Message{
		schema.AssistantMessage("", []schema.ToolCall{call}), schema.UserMessage("Never mind.")}}
	_, state, err = patch.BeforeModelRewriteState(ctx, state, nil) // an agent does this before each turn
	if err != nil {
		panic(err)
	}
	fmt.Println(state.Messages[1].Content)
	// Output: The call of tool weather with id call_1 was cancelled: another message arrived before it finished.
}
