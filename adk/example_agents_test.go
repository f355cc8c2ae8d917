package adk_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// example stands in for the *testing.T of a test.
type example struct{}

func (example) Helper()                           {}
func (example) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (example) Cleanup(func())                    {}

// newAgent makes an agent whose model answers by a script, so that the examples need no provider.
func newAgent(ctx context.Context, name string, answers ...adktest.Answer) *adk.ChatModelAgent {
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: name, Description: "is good at " + name, Model: adktest.NewModel(example{}, answers...)})
	if err != nil {
		panic(err)
	}
	return agent
}

// printEvents prints a line for each message and for the error of the run, when the run has ended.
func printEvents(events *adk.AsyncIterator[*adk.AgentEvent]) {
	var lines []string
	for event := range events.All() {
		if line := lineOf(event); line != "" {
			lines = append(lines, line)
		}
	}
	fmt.Println(strings.Join(lines, "\n"))
}

func lineOf(event *adk.AgentEvent) string {
	if event.Err != nil {
		return fmt.Sprint("failed: ", event.Err)
	}
	message, _, err := adk.GetMessage(event)
	switch {
	case err != nil || message == nil:
		return ""
	case message.Role == schema.Tool:
		return fmt.Sprintf("%s returned: %s", message.ToolName, message.Content)
	case len(message.ToolCalls) > 0:
		call := message.ToolCalls[0].Function
		return fmt.Sprintf("%s calls: %s(%s)", event.AgentName, call.Name, call.Arguments)
	}
	return fmt.Sprintf("%s says: %s", event.AgentName, message.Content)
}

// An agent is made of a model, an instruction and tools. The model of the example follows a script.
func ExampleNewChatModelAgent() {
	type question struct {
		Zone string `json:"zone" jsonschema:"description=such as Asia/Tokyo"`
	}
	clock, err := utils.InferTool("now", "returns the time", func(_ context.Context, q question) (string, error) {
		return "12:00 in " + q.Zone, nil
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "Answer in one sentence.",
		Model: adktest.NewModel(example{},
			adktest.Calls(adktest.Call("now", `{"zone":"Asia/Tokyo"}`)),
			adktest.Says("It is noon.")),
		ToolsConfig: adktest.Tools(clock),
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "What time is it in Tokyo?"))
	// Output:
	// assistant calls: now({"zone":"Asia/Tokyo"})
	// now returned: 12:00 in Asia/Tokyo
	// assistant says: It is noon.
}

// The result of a tool in ReturnDirectly ends the run. With ReportMistakes the model reads what was wrong with its
// calls, and tries again.
func ExampleToolsConfig() {
	ctx := context.Background()
	tools := adktest.Tools(
		adktest.NewTool("search", adktest.Says("3 hits")), adktest.NewTool("hand_in", adktest.Says("done")))
	tools.ReturnDirectly = map[string]bool{"hand_in": true}
	tools.ReportMistakes = true
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant",
		Model: adktest.NewModel(example{},
			adktest.Calls(adktest.Call("serach", `{}`)),
			adktest.Calls(adktest.Call("search", `{}`)),
			adktest.Calls(adktest.Call("hand_in", `{}`))),
		ToolsConfig: tools,
	})
	if err != nil {
		panic(err)
	}
	for event := range adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Go!").All() {
		if m, _, err := adk.GetMessage(event); err == nil && m.Role == schema.Tool {
			fmt.Println(m.ToolName, "returned", len(m.Content), "bytes")
		}
	}
	// Output:
	// serach returned 83 bytes
	// search returned 6 bytes
	// hand_in returned 4 bytes
}

// GetMessage returns the whole message of an event, also where it comes as a stream.
func ExampleGetMessage() {
	ctx := context.Background()
	agent := newAgent(ctx, "poet", adktest.Streams("Roses ", "are ", "red."))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	for event := range runner.Query(ctx, "A poem, please").All() {
		message, _, err := adk.GetMessage(event)
		fmt.Println(event.Output.MessageOutput.IsStreaming, message.Content, err)
	}
	// Output: true Roses are red. <nil>
}

// In a run with streaming the message of an event is a stream of chunks.
func ExampleAgentEvent() {
	ctx := context.Background()
	agent := newAgent(ctx, "poet", adktest.Streams("Roses ", "are ", "red."))
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	for event := range runner.Query(ctx, "A poem, please").All() {
		switch {
		case event.Err != nil:
			fmt.Println("failed:", event.Err)
		case event.Output == nil || event.Output.MessageOutput == nil:
		case event.Output.MessageOutput.IsStreaming:
			for chunk, err := range event.Output.MessageOutput.MessageStream.All() {
				if err != nil {
					fmt.Println("broke off:", err)
					break
				}
				fmt.Printf("%s: %q\n", event.AgentName, chunk.Content)
			}
		default:
			fmt.Println(event.Output.MessageOutput.Message.Content)
		}
	}
	// Output:
	// poet: "Roses "
	// poet: "are "
	// poet: "red."
}

// Any type with these three methods is an agent.
func ExampleAgent() {
	ctx := context.Background()
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: echo{}}).Query(ctx, "Hello"))
	// Output: echo says: Hello
}

type echo struct{}

func (echo) Name(context.Context) string        { return "echo" }
func (echo) Description(context.Context) string { return "says what it hears" }
func (echo) Run(_ context.Context, in *adk.AgentInput, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	events, out := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	go func() {
		defer out.Close()
		last := in.Messages[len(in.Messages)-1]
		out.Send(adk.EventFromMessage(schema.AssistantMessage(last.Content, nil), nil, schema.Assistant, ""))
	}()
	return events
}

// An agent is a tool of another one. It gets a task, and its answer is the result.
func ExampleNewAgentTool() {
	ctx := context.Background()
	archive := newAgent(ctx, "archive", adktest.Says("In 1903.").Seeing("user: first powered flight?"))
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "writer",
		Model: adktest.NewModel(example{},
			adktest.Calls(adktest.Call("archive", `{"request":"first powered flight?"}`)),
			adktest.Says("People have flown since 1903.")),
		ToolsConfig: adktest.Tools(adk.NewAgentTool(ctx, archive)),
	})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Since when do people fly?"))
	// Output:
	// writer calls: archive({"request":"first powered flight?"})
	// archive returned: In 1903.
	// writer says: People have flown since 1903.
}

func ExampleNewSequentialAgent() {
	ctx := context.Background()
	agent, err := adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "newsroom", SubAgents: []adk.Agent{
		newAgent(ctx, "researcher", adktest.Says("The moon causes tides.")),
		newAgent(ctx, "editor", adktest.Says("TIDES: IT IS THE MOON")),
	}})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Why are there tides?"))
	// Output:
	// researcher says: The moon causes tides.
	// editor says: TIDES: IT IS THE MOON
}

// The agents run at the same time, so their events come in any order.
func ExampleNewParallelAgent() {
	ctx := context.Background()
	agent, err := adk.NewParallelAgent(ctx, &adk.ParallelAgentConfig{Name: "jury", SubAgents: []adk.Agent{
		newAgent(ctx, "strict", adktest.Says("No.")),
		newAgent(ctx, "kind", adktest.Says("Yes.")),
	}})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Is it good?"))
	// Unordered output:
	// strict says: No.
	// kind says: Yes.
}

// The loop ends after two rounds.
func ExampleNewLoopAgent() {
	ctx := context.Background()
	agent, err := adk.NewLoopAgent(ctx, &adk.LoopAgentConfig{Name: "review", MaxIterations: 2, SubAgents: []adk.Agent{
		newAgent(ctx, "writer", adktest.Says("A draft."), adktest.Says("A better draft.")),
		newAgent(ctx, "critic", adktest.Says("Too long."), adktest.Says("Good.")),
	}})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Write!"))
	// Output:
	// writer says: A draft.
	// critic says: Too long.
	// writer says: A better draft.
	// critic says: Good.
}

// The model of the desk hands the run over with a tool that SetSubAgents adds. The agent that it returns is the one to
// run.
func ExampleSetSubAgents() {
	ctx := context.Background()
	desk := newAgent(ctx, "desk", adktest.Calls(adktest.Call(adk.TransferToAgentToolName, `{"agent_name":"billing"}`)))
	billing := newAgent(ctx, "billing", adktest.Says("Your invoice is on its way."))
	team, err := adk.SetSubAgents(ctx, desk, []adk.Agent{billing})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: team}).Query(ctx, "Where is my invoice?"))
	// Output:
	// desk calls: transfer_to_agent({"agent_name":"billing"})
	// transfer_to_agent returned: successfully transferred to agent [billing]
	// billing says: Your invoice is on its way.
}

// The clerk hands the run back to the desk, whatever it has said.
func ExampleAgentWithDeterministicTransferTo() {
	ctx := context.Background()
	clerk := adk.AgentWithDeterministicTransferTo(ctx, &adk.DeterministicTransferConfig{
		Agent: newAgent(ctx, "clerk", adktest.Says("Noted.")), ToAgentNames: []string{"desk"}})
	desk := newAgent(ctx, "desk",
		adktest.Calls(adktest.Call(adk.TransferToAgentToolName, `{"agent_name":"clerk"}`)), adktest.Says("Is that all?"))
	team, err := adk.SetSubAgents(ctx, desk, []adk.Agent{clerk})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: team}).Query(ctx, "A holiday, please"))
	// Output:
	// desk calls: transfer_to_agent({"agent_name":"clerk"})
	// transfer_to_agent returned: successfully transferred to agent [clerk]
	// clerk says: Noted.
	// clerk calls: transfer_to_agent(desk)
	// transfer_to_agent returned: successfully transferred to agent [desk]
	// desk says: Is that all?
}

// Session values reach all agents and tools of a run. An instruction is a template of them.
func ExampleWithSessionValues() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "You talk to {user}.",
		Model:       adktest.NewModel(example{}, adktest.Says("Hi Ana!").Seeing("system: You talk to Ana.", "user: Hi")),
	})
	if err != nil {
		panic(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	printEvents(runner.Query(ctx, "Hi", adk.WithSessionValues(map[string]any{"user": "Ana"})))
	// Output: assistant says: Hi Ana!
}

// One agent leaves its answer in the session, where a tool of the next one finds it.
func ExampleGetSessionValue() {
	ctx := context.Background()
	finder, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "finder", Model: adktest.NewModel(example{}, adktest.Says("42")), OutputKey: "found"})
	if err != nil {
		panic(err)
	}
	type nothing struct{}
	look, err := utils.InferTool("look", "returns what was found", func(ctx context.Context, _ nothing) (string, error) {
		found, _ := adk.GetSessionValue(ctx, "found")
		return fmt.Sprint(found), nil
	})
	if err != nil {
		panic(err)
	}
	user, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "user",
		Model:       adktest.NewModel(example{}, adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("It is 42.")),
		ToolsConfig: adktest.Tools(look),
	})
	if err != nil {
		panic(err)
	}
	both, err := adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{
		Name: "both", SubAgents: []adk.Agent{finder, user}})
	if err != nil {
		panic(err)
	}
	printEvents(adk.NewRunner(ctx, adk.RunnerConfig{Agent: both}).Query(ctx, "Find it"))
	// Output:
	// finder says: 42
	// user calls: look({})
	// look returned: 42
	// user says: It is 42.
}
