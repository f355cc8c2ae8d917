package temporalengine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
)

// sealing is a codec that makes everything unreadable, and counts.
type sealing struct{ sealed, opened *atomic.Int32 }

func (s sealing) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return s.each(payloads, s.sealed), nil
}

func (s sealing) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return s.each(payloads, s.opened), nil
}

func (s sealing) each(payloads []*commonpb.Payload, n *atomic.Int32) (changed []*commonpb.Payload) {
	for _, p := range payloads {
		n.Add(1)
		flipped := make([]byte, len(p.Data))
		for i, b := range p.Data {
			flipped[i] = b ^ 0x55
		}
		changed = append(changed, &commonpb.Payload{Metadata: p.Metadata, Data: flipped})
	}
	return changed
}

// TestEngine_UsesTheConverterOfTheClient: what there is in a history is sealed, such as IDs and summaries of questions, and
// failures have nothing to hide.
// Rule temporal/W14.
func TestEngine_UsesTheConverterOfTheClient(t *testing.T) {
	codec := sealing{new(atomic.Int32), new(atomic.Int32)}
	c, err := client.Dial(client.Options{HostPort: serverAddress(t), Logger: silent{}, Identity: "test",
		DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	fails := toolNamed("fails", func(context.Context) (string, error) { return "", context.Canceled })
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"a": agentOf(t, asks("ask"), dispatch.AsRun("b", "b")), "b": agentOf(t, says("one", "1")), "f": agentOf(t, fails)}})
	e := working(t, c, d, confOf(t))
	_, err = e.Submit(t.Context(), jobOf("confidential", "a"))
	require.NoError(t, err)
	s := statusIs(t, c, e.WorkflowID("confidential"), runs.Waiting)
	h, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: e.WorkflowID("confidential"),
		UpdateName: temporalengine.ReplyUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{temporalengine.Reply{To: s.Waiting[0].ID, Data: []byte(`"blue"`)}}})
	require.NoError(t, err)
	require.NoError(t, h.Get(t.Context(), nil))
	require.Equal(t, "done: done: 1", comesTo(t, e, "confidential", runs.Done).Message.Content)
	require.Positive(t, codec.sealed.Load())
	require.Positive(t, codec.opened.Load())
	looked := 0
	for _, event := range historyOf(t, c, e.WorkflowID("confidential"), "").Events {
		require.NoError(t, proxy.VisitPayloads(t.Context(), event, proxy.VisitPayloadsOptions{Visitor: func(
			_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, p := range payloads {
				looked++
				for _, plain := range []string{"confidential", "blue", s.Waiting[0].ID} {
					require.NotContains(t, string(p.Data), plain)
				}
			}
			return payloads, nil
		}}))
	}
	require.Positive(t, looked)

	_, err = e.Submit(t.Context(), jobOf("f", "f"))
	require.NoError(t, err)
	_, err = e.Wait(t.Context(), "f")
	require.NoError(t, err)
	require.ErrorContains(t, c.GetWorkflow(t.Context(), e.WorkflowID("f"), "").Get(t.Context(), nil),
		"run f has failed; the store has the reason")
}

// TestEngine_EventsDoNotGoThroughTemporal: a page in another process follows a run from its first event to its last, across
// a question, and the history has nothing of it.
// Rule temporal/W15.
func TestEngine_EventsDoNotGoThroughTemporal(t *testing.T) {
	c := dial(t, serverAddress(t))
	store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
	recorded := func() *runlog.Log {
		log := runlog.New(runlog.Config{Store: events})
		t.Cleanup(func() { require.NoError(t, log.Close(context.WithoutCancel(t.Context()))) })
		return log
	}
	conf := confOf(t)
	working(t, c, dispatch.New(store, dispatch.Config{Log: recorded(), Agents: dispatch.Agents{
		"a": agentOf(t, says("one", "the secret is: 1"), asks("ask"))}}), conf)
	front, err := temporalengine.New(c, dispatch.New(store, dispatch.Config{Log: recorded()}), conf)
	require.NoError(t, err)
	_, err = front.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := map[runlog.Type]int{}
	for event, err := range front.Events(ctx, "r", runs.Cursor{}) {
		require.NoError(t, err)
		seen[event.Type]++
		if event.Type == runlog.Waiting {
			answer(t, front, "r", "blue")
		}
	}
	require.Equal(t, 1, seen[runlog.Waiting])
	require.Equal(t, 3, seen[runlog.ToolEnd], "one asks, and is called again: %v", seen)
	require.Positive(t, seen[runlog.RunEnd], "%v", seen)
	for _, event := range historyOf(t, c, front.WorkflowID("r"), "").Events {
		require.NotContains(t, event.String(), "secret")
	}
}

// TestEngine_AWorkerExecutesAsManyRunsAsItHasSlots, and runs that wait for a person take none.
// Rule temporal/W17.
func TestEngine_AWorkerExecutesAsManyRunsAsItHasSlots(t *testing.T) {
	c := dial(t, serverAddress(t))
	var now, most atomic.Int32
	work := toolNamed("work", func(context.Context) (string, error) {
		defer now.Add(-1)
		for n := now.Add(1); ; {
			if m := most.Load(); m >= n || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(50 * time.Millisecond)
		return "worked", nil
	})
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
		Agents: dispatch.Agents{"asks": agentOf(t, asks("ask")), "works": agentOf(t, work)}})
	e, err := temporalengine.New(c, d, confOf(t))
	require.NoError(t, err)
	w := worker.New(c, e.TaskQueue(""), worker.Options{MaxConcurrentActivityExecutionSize: 2})
	e.Register(w)
	require.NoError(t, w.Start())
	defer w.Stop()
	for _, agent := range []string{"asks", "works"} {
		for n := range 8 {
			_, err := e.Submit(t.Context(), jobOf(agent+strings.Repeat("i", n), agent))
			require.NoError(t, err)
		}
	}
	for n := range 8 {
		comesTo(t, e, "works"+strings.Repeat("i", n), runs.Done)
		comesTo(t, e, "asks"+strings.Repeat("i", n), runs.Waiting)
	}
	require.EqualValues(t, 2, most.Load())
}
