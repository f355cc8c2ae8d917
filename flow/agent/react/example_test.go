package react_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent/react"
	"github.com/weftgo/weft/schema"
)

// clerk is a model that looks the weather up before it answers.
type clerk struct{}

func (clerk) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	last := input[len(input)-1]
	if last.Role == schema.Tool {
		return schema.AssistantMessage("It is "+last.Content+".", nil), nil
	}
	return schema.AssistantMessage("Let me see.", []schema.ToolCall{{
		ID: "1", Function: schema.FunctionCall{Name: "weather", Arguments: `{"city":"Bern"}`}}}), nil
}

func (c clerk) Stream(ctx context.Context, input []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := c.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (c clerk) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return c, nil }

type place struct {
	City string `json:"city"`
}

// An agent with one tool, and the messages it makes on the way.
func ExampleNewAgent() {
	ctx := context.Background()
	weather, err := utils.InferTool("weather", "tells the weather", func(_ context.Context, in place) (string, error) {
		return "sunny in " + in.City, nil
	})
	if err != nil {
		panic(err)
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: clerk{},
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}},
	})
	if err != nil {
		panic(err)
	}

	option, future := react.WithMessageFuture()
	answer, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage("How is the weather in Bern?")}, option)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Content)

	messages := future.GetMessages()
	for m, ok, err := messages.Next(); ok && err == nil; m, ok, err = messages.Next() {
		fmt.Printf("- %s: %s\n", m.Role, m.Content)
	}
	// Output:
	// It is sunny in Bern.
	// - assistant: Let me see.
	// - tool: sunny in Bern
	// - assistant: It is sunny in Bern.
}
