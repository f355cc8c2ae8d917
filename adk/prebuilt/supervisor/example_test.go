package supervisor_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/prebuilt/supervisor"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// answers is a model that gives these answers in turn.
type answers []*schema.Message

func (a *answers) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return next, nil
}

func (a *answers) Stream(ctx context.Context, in []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := a.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func newAgent(ctx context.Context, name, description string, says ...*schema.Message) adk.Agent {
	a, err := adk.NewChatModelAgent(ctx,
		&adk.ChatModelAgentConfig{Name: name, Description: description, Model: (*answers)(&says)})
	if err != nil {
		panic(err)
	}
	return a
}

func Example() {
	ctx := context.Background()
	toResearcher := schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{
		Name: adk.TransferToAgentToolName, Arguments: `{"agent_name":"researcher"}`}}})
	agent, err := supervisor.New(ctx, &supervisor.Config{
		Supervisor: newAgent(ctx, "editor", "writes articles", toResearcher,
			schema.AssistantMessage("Tides: the moon does it.", nil)),
		SubAgents: []adk.Agent{
			newAgent(ctx, "researcher", "finds things out", schema.AssistantMessage("It is the moon.", nil)),
		},
	})
	if err != nil {
		panic(err)
	}
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Why are there tides?").All() {
		if event.Err != nil {
			panic(event.Err)
		}
		if message, _, err := adk.GetMessage(event); err == nil && message.Content != "" {
			fmt.Printf("%s: %s\n", event.AgentName, message.Content)
		}
	}
	// Output:
	// editor: successfully transferred to agent [researcher]
	// researcher: It is the moon.
	// researcher: successfully transferred to agent [editor]
	// editor: Tides: the moon does it.
}
