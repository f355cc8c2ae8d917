package planexecute_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/prebuilt/planexecute"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// answers is a model that gives these answers in turn.
type answers []*schema.Message

func (a *answers) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return a, nil }

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

func call(name, arguments string) *schema.Message {
	return schema.AssistantMessage("",
		[]schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: name, Arguments: arguments}}})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	agent := must(planexecute.New(ctx, &planexecute.Config{
		Planner: must(planexecute.NewPlanner(ctx, &planexecute.PlannerConfig{
			ToolCallingChatModel: &answers{call("plan", `{"steps":["Look up the cause","Write it down"]}`)},
		})),
		Executor: must(planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{
			Model: &answers{schema.AssistantMessage("It is the moon.", nil)},
		})),
		Replanner: must(planexecute.NewReplanner(ctx, &planexecute.ReplannerConfig{
			ChatModel: &answers{call("respond", `{"response":"The moon causes the tides."}`)},
		})),
	}))
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Why are there tides?").All() {
		if event.Err != nil {
			panic(event.Err)
		}
		if message, _, err := adk.GetMessage(event); err == nil && message != nil {
			fmt.Printf("%s: %s\n", event.AgentName, message.Content)
		}
	}
	// Output:
	// planner: {"steps":["Look up the cause","Write it down"]}
	// executor: It is the moon.
	// replanner: {"response":"The moon causes the tides."}
}
