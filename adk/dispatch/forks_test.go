package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestWork_ExecutesAForkThatIsContinued: no worker takes a fork before it is continued; then it is a run like any other.
// Rules steps/FK-1, steps/FK-2.
func TestWork_ExecutesAForkThatIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		calls := 0
		work := toolNamed(t, "work", func(context.Context) (string, error) { calls++; return "worked", nil })
		agent := agentOf(t, "a", work)
		keeps := func(_ context.Context, _ runs.Info, s checkpoint.Store) (*adk.Runner, error) {
			return adk.NewRunner(t.Context(),
				adk.RunnerConfig{Agent: agent, CheckPointStore: s, Durability: adk.EveryStep, KeepSteps: true}), nil
		}
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": keeps}, Log: logOf(t, nil)}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Done)
		steps, err := adk.Steps(t.Context(), store, "1")
		require.NoError(t, err)
		require.Len(t, steps, 5)

		edit := func(s *adk.Step) error { s.Text = "edited"; return nil }
		made, err := d.Fork(t.Context(), "1", adk.ForkOptions{At: 4, NewID: "2", Edit: edit, Tags: map[string]string{"of": "1"}})
		require.NoError(t, err)
		require.Equal(t, runs.Paused, made.Status)
		require.Equal(t, map[string]string{"of": "1"}, made.Tags)
		_, err = d.Fork(t.Context(), "1", adk.ForkOptions{At: 4, NewID: "2"})
		require.ErrorIs(t, err, runs.ErrExists)
		time.Sleep(time.Hour)
		info, _, err := store.Inspect(t.Context(), "2")
		require.NoError(t, err)
		require.Equal(t, runs.Paused, info.Status)
		require.NoError(t, d.Continue(t.Context(), "2"))
		o := waitFor(t, d, "2", runs.Done)
		require.Equal(t, "done: edited", o.Message.Content)
		require.Equal(t, 1, calls)
		for e, err := range d.Events(t.Context(), "2", runs.Cursor{}) {
			require.NoError(t, err)
			start, ok := e.Data.(*runlog.RunStartData)
			require.True(t, ok)
			require.Equal(t, &runlog.Fork{Run: "1", Step: 4}, start.Forked)
			break
		}
		steps, err = d.Steps(t.Context(), "2")
		require.NoError(t, err)
		require.Equal(t, schema.AssistantMessage("done: edited", nil).Content, steps[4].Messages[3].(*schema.Message).Content)
	})
}
