package adk

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// constant is a model that allocates little: it calls perTurn tools on the first call, if any, and then answers. As a
// stream its answer comes in chunks through a pipe.
type constant struct {
	calls  []schema.ToolCall
	chunks int
}

func newConstant(perTurn, chunks int) *constant {
	c := &constant{chunks: chunks}
	for i := range perTurn {
		c.calls = append(c.calls, schema.ToolCall{
			ID: fmt.Sprint("call_", i), Type: "function", Function: schema.FunctionCall{Name: "echo", Arguments: `{"q":"x"}`}})
	}
	return c
}

func (c *constant) Generate(_ context.Context, history []Message, _ ...model.Option) (Message, error) {
	if len(c.calls) > 0 && len(history) == 1 {
		return &schema.Message{Role: schema.Assistant, ToolCalls: c.calls}, nil
	}
	return &schema.Message{Role: schema.Assistant, Content: "done"}, nil
}

var token = &schema.Message{Role: schema.Assistant, Content: "tok "}

func (c *constant) Stream(context.Context, []Message, ...model.Option) (MessageStream, error) {
	r, w := schema.Pipe[Message](16)
	go func() {
		defer w.Close()
		for range c.chunks {
			if w.Send(token, nil) {
				return
			}
		}
	}()
	return r, nil
}

type constantTool struct{ named }

func (constantTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "result", nil
}

func constantRunner(t testing.TB, m *constant, streaming bool) *Runner {
	var tools []tool.BaseTool
	if len(m.calls) > 0 {
		tools = append(tools, constantTool{"echo"})
	}
	return NewRunner(context.Background(),
		RunnerConfig{Agent: setup(t, model.BaseChatModel(m), tools), EnableStreaming: streaming})
}

// drain reads a run to its end and counts events and chunks.
func drain(t testing.TB, it *AsyncIterator[*AgentEvent]) (events, chunks int) {
	for {
		e, ok := it.Next()
		if !ok {
			return events, chunks
		}
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		events++
		s := e.Output.MessageOutput.MessageStream
		if s == nil {
			continue
		}
		for {
			_, err := s.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			chunks++
		}
		s.Close()
	}
}

var workloads = []struct {
	name          string
	calls, chunks int
	events        int
	mostAllocs    float64
}{
	{name: "W1_NoTools", events: 1, mostAllocs: 17},
	{name: "W2_OneTool", calls: 1, events: 3, mostAllocs: 44},
	{name: "W4_16ParallelTools", calls: 16, events: 18, mostAllocs: 185},
	{name: "W5_1000Chunks", chunks: 1000, events: 1, mostAllocs: 90},
}

func TestAllocs_Budgets(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("pools forget under the race detector")
	}
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			r := constantRunner(t, newConstant(w.calls, w.chunks), w.chunks > 0)
			got := testing.AllocsPerRun(100, func() {
				events, chunks := drain(t, r.Run(context.Background(), []Message{schema.UserMessage("hi")}))
				if events != w.events || chunks != w.chunks {
					t.Fatalf("%d events, %d chunks", events, chunks)
				}
			})
			t.Logf("%v allocations", got)
			require.LessOrEqual(t, got, w.mostAllocs)
		})
	}
}

func BenchmarkRun(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			r := constantRunner(b, newConstant(w.calls, w.chunks), w.chunks > 0)
			b.ReportAllocs()
			for b.Loop() {
				drain(b, r.Run(context.Background(), []Message{schema.UserMessage("hi")}))
			}
		})
	}
}
