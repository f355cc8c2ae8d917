package host_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/flow/agent/multiagent/host"
	"github.com/weftgo/weft/schema"
)

// dispatcher is a host model that hands everything over to the poet.
type dispatcher struct{}

func (dispatcher) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: "1", Function: schema.FunctionCall{Name: "poet", Arguments: `{"reason":"the user wants a rhyme"}`}}}), nil
}

func (d dispatcher) Stream(ctx context.Context, input []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := d.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (d dispatcher) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return d, nil }

// A host with one specialist, which is a function.
func ExampleNewMultiAgent() {
	ctx := context.Background()
	poet := &host.Specialist{
		AgentMeta: host.AgentMeta{Name: "poet", IntendedUse: "writes poems"},
		Invokable: func(ctx context.Context, input []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
			for _, call := range host.GetHandOffs(ctx) {
				fmt.Println("asked with", call.Argument)
			}
			return schema.AssistantMessage("weft, left, deft", nil), nil
		},
	}
	team, err := host.NewMultiAgent(ctx, &host.MultiAgentConfig{
		Host:        host.Host{ToolCallingModel: dispatcher{}},
		Specialists: []*host.Specialist{poet},
	})
	if err != nil {
		panic(err)
	}
	answer, err := team.Generate(ctx, []*schema.Message{schema.UserMessage("What rhymes with weft?")})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Content)
	// Output:
	// asked with {"reason":"the user wants a rhyme"}
	// weft, left, deft
}
