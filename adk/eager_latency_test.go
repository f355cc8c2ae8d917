package adk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// timetable is a model that completes calls at given times, and ends at another.
type timetable[M MessageType] struct {
	calls []time.Duration
	costs []time.Duration
	end   time.Duration
	turn  int
}

func (m *timetable[M]) Generate(context.Context, []M, ...model.Option) (none M, _ error) {
	return none, errBroken
}

func (m *timetable[M]) Stream(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
	d := dialectOf[M]()
	if m.turn++; m.turn > 1 {
		return schema.StreamReaderFromArray([]M{d.chunk("done")}), nil
	}
	s, w := schema.Pipe[M](16)
	go func() {
		defer w.Close()
		start := time.Now()
		for i, at := range m.calls {
			time.Sleep(time.Until(start.Add(at - 10*time.Millisecond)))
			w.Send(chunkAt[M](i+1, wanted{"t", fmt.Sprint(i), `{"ms":`}), nil)
			time.Sleep(time.Until(start.Add(at)))
			w.Send(chunkAt[M](i+1, wanted{"", "", fmt.Sprint(m.costs[i].Milliseconds(), "}")}), nil)
		}
		time.Sleep(time.Until(start.Add(m.end)))
	}()
	return s, nil
}

// TestEager_Latency: what a turn takes when its tools overlap with its answer, in fake time: the runtime adds nothing.
func TestEager_Latency(t *testing.T) { streamed(t, testLatency[ordinary], testLatency[agentic]) }

func testLatency[M MessageType](t *testing.T) {
	ms := func(n ...int) (out []time.Duration) {
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	sleeps := &toolFunc{"t", func(_ context.Context, args string) (string, error) {
		var n int
		_, err := fmt.Sscanf(args, `{"ms":%d}`, &n)
		time.Sleep(time.Duration(n) * time.Millisecond)
		return "ok", err
	}}
	for name, c := range map[string]struct {
		at, cost   []time.Duration
		sequential bool
		want       time.Duration
	}{
		"S1": {at: ms(50), cost: ms(200), want: 400 * time.Millisecond},
		"S2": {at: ms(50, 125, 200), cost: ms(200, 200, 200), want: 400 * time.Millisecond},
		"S3": {at: ms(50, 225, 400), cost: ms(200, 200, 200), want: 600 * time.Millisecond},
		"S4": {at: ms(50, 225, 400), cost: ms(200, 200, 200), sequential: true, want: 650 * time.Millisecond},
		"S5": {at: ms(50, 225, 400), cost: ms(600, 200, 200), want: 650 * time.Millisecond},
	} {
		a := setup[M](t, &timetable[M]{calls: c.at, costs: c.cost, end: 400 * time.Millisecond}, []tool.BaseTool{sleeps},
			eagerly[M], func(conf *TypedChatModelAgentConfig[M]) { conf.ToolsConfig.ExecuteSequentially = c.sequential })
		start := time.Now()
		require.Len(t, read(t, bare(t.Context(), a, true)), 2+len(c.at), name)
		require.Equal(t, c.want, time.Since(start), name)
	}
}

// TestEagerCalls_OfAgenticChunks: calls of agentic chunks, with the place of their block.
// Rule agent/E-10.
func TestEagerCalls_OfAgenticChunks(t *testing.T) {
	m := agenticChunk("text", wanted{"f", "a", "{}"})
	m.ContentBlocks = append(m.ContentBlocks, nil, &schema.ContentBlock{},
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "b", Name: "g"}))
	calls := agenticOps.callChunks(m)
	require.Len(t, calls, 2)
	require.Equal(t, 1, *calls[0].Index)
	require.Equal(t, "a", calls[0].ID)
	require.Nil(t, calls[1].Index)
	require.Empty(t, agenticOps.callChunks(nil))
}
