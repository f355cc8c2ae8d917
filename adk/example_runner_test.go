package adk_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// Query asks one question, and Run a whole conversation.
func ExampleRunner() {
	ctx := context.Background()
	agent := newAgent(ctx, "assistant", adktest.Says("Hello!"),
		adktest.Says("You are Ana.").Seeing("user: I am Ana", "assistant: Hello!", "user: Who am I?"))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})

	history := []adk.Message{schema.UserMessage("I am Ana")}
	for event := range runner.Query(ctx, history[0].Content).All() {
		if event.Err != nil {
			panic(event.Err)
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			panic(err)
		}
		history = append(history, message)
	}
	printEvents(runner.Run(ctx, append(history, schema.UserMessage("Who am I?"))))
	// Output: assistant says: You are Ana.
}

// deleting is a tool that asks before it does anything.
func deleting() tool.InvokableTool {
	type file struct {
		Name string `json:"name"`
	}
	t, err := utils.InferTool("delete", "deletes a file", func(ctx context.Context, f file) (string, error) {
		target, has, allowed := tool.GetResumeContext[bool](ctx)
		switch {
		case !target || !has:
			return "", tool.Interrupt(ctx, "delete "+f.Name+"?")
		case !allowed:
			return "the user does not want that", nil
		}
		return f.Name + " is gone", nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

// A tool stops the run with a question. The answer may come in another process, if the store keeps its data there.
func ExampleRunner_resume() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant",
		Model: adktest.NewModel(example{},
			adktest.Calls(adktest.Call("delete", `{"name":"old.txt"}`)), adktest.Says("Done.")),
		ToolsConfig: adktest.Tools(deleting()),
	})
	if err != nil {
		panic(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	answers := map[string]any{}
	for event := range runner.Query(ctx, "Tidy up", adk.WithCheckPointID("run-1")).All() {
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, point := range event.Action.Interrupted.InterruptContexts {
				fmt.Println(point.Info)
				answers[point.ID] = true
			}
		}
	}
	events, err := runner.ResumeWithParams(ctx, "run-1", &adk.ResumeParams{Targets: answers})
	if err != nil {
		panic(err)
	}
	printEvents(events)
	// Output:
	// delete old.txt?
	// delete returned: old.txt is gone
	// assistant says: Done.
}

// A cancel after the next tool calls stops the run where it can continue later.
func ExampleWithCancel() {
	ctx := context.Background()
	option, cancel := adk.WithCancel()
	type nothing struct{}
	step, err := utils.InferTool("step", "takes a step", func(context.Context, nothing) (string, error) {
		cancel(adk.WithAgentCancelMode(adk.CancelAfterToolCalls)) // anybody may call it
		return "one step further", nil
	})
	if err != nil {
		panic(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "walker",
		Model:       adktest.NewModel(example{}, adktest.Calls(adktest.Call("step", `{}`)), adktest.Says("There.")),
		ToolsConfig: adktest.Tools(step),
	})
	if err != nil {
		panic(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	for event := range runner.Query(ctx, "Walk", option, adk.WithCheckPointID("walk")).All() {
		var canceled *adk.CancelError
		if errors.As(event.Err, &canceled) {
			fmt.Println("canceled")
		}
	}
	events, err := runner.Resume(ctx, "walk")
	if err != nil {
		panic(err)
	}
	printEvents(events)
	// Output:
	// canceled
	// walker says: There.
}

// A call of the model that failed is made again.
func ExampleModelRetryConfig() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:             "assistant",
		Model:            adktest.NewModel(example{}, adktest.Fails(errors.New("overloaded")), adktest.Says("Hello!")),
		ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 2, BackoffFunc: noDelay},
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Hi"))
	// Output: assistant says: Hello!
}

// When the model fails, another one answers.
func ExampleModelFailoverConfig() {
	ctx := context.Background()
	second := adktest.NewModel(example{}, adktest.Says("Hello from the second one!"))
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:  "assistant",
		Model: adktest.NewModel(example{}, adktest.Fails(errors.New("out of service"))),
		ModelFailoverConfig: &adk.ModelFailoverConfig[*schema.Message]{
			MaxRetries:     1,
			ShouldFailover: func(_ context.Context, _ adk.Message, err error) bool { return err != nil },
			GetFailoverModel: func(context.Context, *adk.FailoverContext[*schema.Message]) (
				failover model.BaseChatModel, input []adk.Message, err error,
			) {
				return second, nil, nil
			},
		},
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Hi"))
	// Output: assistant says: Hello from the second one!
}

// The process that runs the agent cannot do what the tool stands for: a browser can. The run stops, and is resumed with
// the result.
func ExampleNewClientTool() {
	ctx := context.Background()
	locate, err := adk.NewClientTool(&schema.ToolInfo{Name: "locate", Desc: "returns where the user is"})
	if err != nil {
		panic(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "guide",
		Model:       adktest.NewModel(example{}, adktest.Calls(adktest.Call("locate", `{}`)), adktest.Says("Turn left.")),
		ToolsConfig: adktest.Tools(locate),
	})
	if err != nil {
		panic(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	results := map[string]any{}
	for event := range runner.Query(ctx, "Where to?", adk.WithCheckPointID("walk")).All() {
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, point := range event.Action.Interrupted.InterruptContexts {
				call := point.Info.(*adk.ClientToolCall)
				fmt.Println("for the browser:", call.Name, call.Arguments)
				results[point.ID] = &adk.ClientToolResult{Text: "52.5 N, 13.4 E"}
			}
		}
	}
	events, err := runner.ResumeWithParams(ctx, "walk", &adk.ResumeParams{Targets: results})
	if err != nil {
		panic(err)
	}
	printEvents(events)
	// Output:
	// for the browser: locate {}
	// locate returned: 52.5 N, 13.4 E
	// guide says: Turn left.
}

// A tool of the run may send events of its own.
func ExampleSendEvent() {
	ctx := context.Background()
	type nothing struct{}
	download, err := utils.InferTool("download", "downloads", func(ctx context.Context, _ nothing) (string, error) {
		for _, percent := range []int{50, 100} {
			event := &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: percent}}
			if err := adk.SendEvent(ctx, event); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	if err != nil {
		panic(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Model:       adktest.NewModel(example{}, adktest.Calls(adktest.Call("download", `{}`)), adktest.Says("It is here.")),
		ToolsConfig: adktest.Tools(download),
	})
	if err != nil {
		panic(err)
	}
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Get it").All() {
		if event.Output != nil && event.Output.CustomizedOutput != nil {
			fmt.Println(event.Output.CustomizedOutput, "%")
		}
	}
	// Output:
	// 50 %
	// 100 %
}
