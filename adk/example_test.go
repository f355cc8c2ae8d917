package adk_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// script is a chat model for tests: it gives its answers one after the other.
type script struct{ answers []*schema.Message }

func (s *script) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer, nil
}

func (s *script) Stream(ctx context.Context, history []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// An agent is tested with a model that follows a script.
func Example() {
	type query struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("weather", "tells the weather in a city", func(_ context.Context, q query) (string, error) {
		return "sunny in " + q.City, nil
	})
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "You are a helpful assistant.",
		Model: &script{[]*schema.Message{
			schema.AssistantMessage("", []schema.ToolCall{{
				ID:       "call_1",
				Function: schema.FunctionCall{Name: "weather", Arguments: `{"city":"Lisbon"}`},
			}}),
			schema.AssistantMessage("No umbrella today.", nil),
		}},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
	})
	if err != nil {
		panic(err)
	}

	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for event := range runner.Query(ctx, "Do I need an umbrella in Lisbon?").All() {
		if event.Err != nil {
			panic(event.Err)
		}
		output := event.Output.MessageOutput
		switch {
		case output.Role == schema.Tool:
			fmt.Printf("%s returned: %s\n", output.ToolName, output.Message.Content)
		case len(output.Message.ToolCalls) > 0:
			call := output.Message.ToolCalls[0].Function
			fmt.Printf("%s calls: %s(%s)\n", event.AgentName, call.Name, call.Arguments)
		default:
			fmt.Printf("%s says: %s\n", event.AgentName, output.Message.Content)
		}
	}
	// Output:
	// assistant calls: weather({"city":"Lisbon"})
	// weather returned: sunny in Lisbon
	// assistant says: No umbrella today.
}
