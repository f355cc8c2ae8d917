package adk_test

import (
	"context"
	"fmt"
	"regexp"

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

func (s *script) Stream(ctx context.Context, history []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// An agent is tested with a model that follows a script.
func Example() {
	type query struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("weather", "tells the weather in a city",
		func(_ context.Context, q query) (string, error) {
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

// A middleware takes account numbers out of the results of all tools, whether they give text or parts, whole or as a
// stream.
func ExampleWrapEveryToolCall() {
	account := regexp.MustCompile(`\b[0-9]{8}\b`)
	redact := adk.WrapEveryToolCall(func(
		ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
	) (*compose.ToolCallOutput, error) {
		out, err := next(ctx, call)
		if err != nil {
			return nil, err
		}
		if err := out.Join(); err != nil { // a number may lie across the chunks of a stream
			return nil, err
		}
		out.MapText(func(text string) string { return account.ReplaceAllString(text, "********") })
		return out, nil
	})

	type nothing struct{}
	customer, err := utils.InferTool("customer", "tells about the customer",
		func(context.Context, nothing) (string, error) {
			return "Ana, account 12345678", nil
		})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant",
		Model: &script{[]*schema.Message{
			schema.AssistantMessage("", []schema.ToolCall{{
				ID:       "call_1",
				Function: schema.FunctionCall{Name: "customer", Arguments: `{}`},
			}}),
			schema.AssistantMessage("She is called Ana.", nil),
		}},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{customer}}},
		Handlers:    []adk.ChatModelAgentMiddleware{redact},
	})
	if err != nil {
		panic(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for event := range runner.Query(ctx, "Who is the customer?").All() {
		if event.Err != nil {
			panic(event.Err)
		}
		if output := event.Output.MessageOutput; output.Role == schema.Tool {
			fmt.Println(output.Message.Content)
		}
	}
	// Output: Ana, account ********
}
