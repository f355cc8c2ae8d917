package deep_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/prebuilt/deep"
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

func call(id, name, arguments string) *schema.Message {
	return schema.AssistantMessage("",
		[]schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}})
}

func Example() {
	ctx := context.Background()
	agent, err := deep.New(ctx, &deep.Config{
		Name: "assistant",
		ChatModel: &answers{
			call("1", "write_todos",
				`{"todos":[{"content":"Find the cause","activeForm":"Finding the cause","status":"in_progress"}]}`),
			call("2", "task", `{"subagent_type":"general-purpose","description":"Why are there tides?"}`),
			schema.AssistantMessage("It is the moon.", nil), // of the general-purpose agent
			schema.AssistantMessage("The moon causes the tides.", nil),
		},
		Backend: filesystem.NewInMemoryBackend(),
	})
	if err != nil {
		panic(err)
	}
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Why are there tides?").All() {
		if event.Err != nil {
			panic(event.Err)
		}
		if message, _, err := adk.GetMessage(event); err == nil && message.Content != "" {
			fmt.Println(message.Role, message.Content)
		}
	}
	// Output:
	// tool Updated todo list to [{"content":"Find the cause","activeForm":"Finding the cause","status":"in_progress"}]
	// tool It is the moon.
	// assistant The moon causes the tides.
}
