package adktest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
)

// example stands in for the *testing.T of a test.
type example struct{ cleanups []func() }

func (*example) Helper()                           {}
func (*example) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (e *example) Cleanup(f func())                { e.cleanups = append(e.cleanups, f) }

// end does what the testing package does at the end of a test.
func (e *example) end() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

func Example() {
	t := &example{} // a test has its *testing.T
	defer t.end()
	ctx := context.Background()

	weather := adktest.NewTool("weather", adktest.Says("sunny"))
	model := adktest.NewModel(t,
		adktest.Calls(adktest.Call("weather", `{"city":"Lisbon"}`)).Offered("weather"),
		adktest.Says("No umbrella today.").SeeingLast("tool weather#call_1: sunny"),
	)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Model: model, ToolsConfig: adktest.Tools(weather)})
	if err != nil {
		panic(err)
	}

	events := adktest.Ask(ctx, t, agent, "Do I need an umbrella?").ExpectText("No umbrella today.")
	for _, line := range events.Lines() {
		fmt.Println(line)
	}
	fmt.Println(weather.Arguments())
	// Output:
	// assistant: [weather#call_1 {"city":"Lisbon"}]
	// tool weather#call_1: sunny
	// assistant: No umbrella today.
	// [{"city":"Lisbon"}]
}

// A script says what a call should see. When an agent drifts from it, the test shows where.
func ExampleAnswer_Seeing() {
	t := &example{}
	defer t.end()
	ctx := context.Background()

	model := adktest.NewModel(t, adktest.Says("Hello.").Seeing("system: Be brief.", "user: Hi"))
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Instruction: "Be friendly.", Model: model})
	if err != nil {
		panic(err)
	}
	adktest.Ask(ctx, t, agent, "Hi")
	// Output:
	// adktest: call 1 of the model has other messages than expected
	// got:
	//   > system: Be friendly.
	//     user: Hi
	// want:
	//   > system: Be brief.
	//     user: Hi
}

// A stream that breaks off in the middle.
func ExampleAnswer_ThenFails() {
	t := &example{}
	defer t.end()
	ctx := context.Background()

	lost := errors.New("connection lost")
	model := adktest.NewModel(t, adktest.Streams("To be ", "or ").ThenFails(lost))
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "assistant", Model: model})
	if err != nil {
		panic(err)
	}
	events := adktest.AskStreaming(ctx, t, agent, "What is the question?").ExpectError(lost)
	fmt.Println(events.All()[0])
	// Output: assistant: To be or  (broken: connection lost)
}
