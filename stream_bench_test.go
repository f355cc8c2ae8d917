package weft_test

import (
	"context"
	"testing"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// lookup is a model that calls a tool once, and answers then, and the tool.
type lookup struct{}

func (lookup) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if in[len(in)-1].Role == schema.Tool {
		return &schema.Message{Role: schema.Assistant, Content: "done"}, nil
	}
	return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{
		{ID: "call_1", Type: "function", Function: schema.FunctionCall{Name: "lookup", Arguments: `{"q":"x"}`}},
	}}, nil
}

func (m lookup) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, in)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

var lookupInfo = &schema.ToolInfo{Name: "lookup", Desc: "looks something up",
	ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"q": {Type: schema.String, Required: true}})}

type lookupTool struct{}

func (lookupTool) Info(context.Context) (*schema.ToolInfo, error) { return lookupInfo, nil }
func (lookupTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "result", nil
}

func lookupAgent(tb testing.TB) *weft.Agent {
	agent, err := weft.New(weft.Config{Model: lookup{}, Tools: []weft.Tool{lookupTool{}}})
	if err != nil {
		tb.Fatal(err)
	}
	return agent
}

func stream(tb testing.TB, agent *weft.Agent) {
	n := 0
	for e, err := range agent.Stream(context.Background(), "hello") {
		if err != nil {
			tb.Fatal(err)
		}
		if e.Text != "" || e.Call != nil || e.Result != nil {
			n++
		}
	}
	if n != 3 {
		tb.Fatalf("%d events", n)
	}
}

// TestAllocs_Stream is for the front door what TestAllocs_Budgets of package adk is for a runner.
func TestAllocs_Stream(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("pools forget under the race detector")
	}
	const most = 39
	agent := lookupAgent(t)
	if got := testing.AllocsPerRun(100, func() { stream(t, agent) }); got > most {
		t.Fatalf("%v allocations, at most %d are expected", got, most)
	}
}

// BenchmarkStream is a model, a tool and the model again, read as a stream: through the front door, and as a loop written
// by hand that sends its events through a channel.
func BenchmarkStream(b *testing.B) {
	b.Run("weft", func(b *testing.B) {
		agent := lookupAgent(b)
		b.ReportAllocs()
		for b.Loop() {
			stream(b, agent)
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bare(b)
		}
	})
}

type bareEvent struct {
	role    schema.RoleType
	message *schema.Message
}

func bare(tb testing.TB) {
	ctx, events := context.Background(), make(chan bareEvent)
	go func() {
		defer close(events)
		history := []*schema.Message{schema.UserMessage("hello")}
		for {
			s, _ := lookup{}.Stream(ctx, history)
			answer, err := s.Recv()
			if err != nil {
				tb.Error(err)
				return
			}
			s.Close()
			history = append(history, answer)
			events <- bareEvent{schema.Assistant, answer}
			if len(answer.ToolCalls) == 0 {
				return
			}
			call := answer.ToolCalls[0]
			text, _ := lookupTool{}.InvokableRun(ctx, call.Function.Arguments)
			result := schema.ToolMessage(text, call.ID, schema.WithToolName(call.Function.Name))
			history = append(history, result)
			events <- bareEvent{schema.Tool, result}
		}
	}()
	n := 0
	for range events {
		n++
	}
	if n != 3 {
		tb.Fatalf("%d events", n)
	}
}
