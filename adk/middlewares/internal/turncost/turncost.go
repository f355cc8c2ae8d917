// Package turncost measures what a middleware adds to a turn in which it has nothing to do, in allocations.
//
// The tests of middlewares use it to keep to the most that is allowed.
// It must never be used outside of tests.
package turncost

import (
	"context"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// Most is the number of allocations that a middleware may add to a turn of the model in which it has nothing to do, and to
// a call of a tool.
const Most = 10

// rounds is the number of turns that are measured together. The one that a run needs at least does not count, nor does
// BeforeAgent.
const rounds = 8

// Check fails the test if the middlewares add more than [Most] allocations to a turn or a call. It skips under the race
// detector, which makes pools forget.
func Check(t *testing.T, handlers ...adk.ChatModelAgentMiddleware) {
	t.Helper()
	if racedetector.Enabled {
		t.Skip("pools forget under the race detector")
	}
	turn, call := cost(t, nil)
	turnWith, callWith := cost(t, handlers)
	t.Logf("%v more for a turn, %v more for a call", turnWith-turn, callWith-call)
	if more := turnWith - turn; int(more) > Most { // slices that grow now and then make fractions
		t.Errorf("%v more allocations for a turn, at most %d are allowed", more, Most)
	}
	if more := callWith - call; int(more) > Most {
		t.Errorf("%v more allocations for a call of a tool, at most %d are allowed", more, Most)
	}
}

// cost is the cost of a turn without its calls, and of a call.
func cost(t *testing.T, handlers []adk.ChatModelAgentMiddleware) (turn, call float64) {
	t.Helper()
	none := allocations(t, constantModel{}, handlers)
	one := (allocations(t, constantModel{rounds, calls[:1]}, handlers) - none) / rounds
	three := (allocations(t, constantModel{rounds, calls}, handlers) - none) / rounds
	call = (three - one) / 2
	return one - call, call
}

// allocations returns the number of allocations of a run.
func allocations(t *testing.T, m constantModel, handlers []adk.ChatModelAgentMiddleware) float64 {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "a", Model: m, Handlers: handlers,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: []tool.BaseTool{constantTool{}}, ExecuteSequentially: true}}})
	if err != nil {
		t.Fatal(err)
	}
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	input := []*schema.Message{schema.UserMessage("hi")}
	return testing.AllocsPerRun(50, func() {
		events := runner.Run(t.Context(), input)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				t.Fatal(event.Err)
			}
		}
	})
}

// Answer is the last answer of the model of the runs. It is the JSON of an object.
const Answer = `{"city":"Lisbon"}`

// constantModel makes the calls in so many turns and then answers.
type constantModel struct {
	rounds int
	calls  []schema.ToolCall
}

var calls = []schema.ToolCall{call("call_1"), call("call_2"), call("call_3")}

func call(id string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "t", Arguments: "{}"}}
}

func (m constantModel) Generate(
	_ context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.Message, error) {
	said := 0
	for _, message := range history {
		if message.Role == schema.Assistant {
			said++
		}
	}
	if said < m.rounds {
		return &schema.Message{Role: schema.Assistant, ToolCalls: m.calls}, nil
	}
	return &schema.Message{Role: schema.Assistant, Content: Answer}, nil
}

func (m constantModel) Stream(
	ctx context.Context, history []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

type constantTool struct{}

var info = &schema.ToolInfo{Name: "t", Desc: "does nothing"}

func (constantTool) Info(context.Context) (*schema.ToolInfo, error) { return info, nil }

func (constantTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "result", nil
}
