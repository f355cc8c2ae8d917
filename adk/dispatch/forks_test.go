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
	"github.com/weftgo/weft/schema"
)

// TestWork_ExecutesAForkThatIsContinued: no worker takes a fork before somebody says so; then it is a run like any
// other.
// Rules steps/FK-1, steps/FK-2.
func TestWork_ExecutesAForkThatIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		calls := 0
		work := toolNamed(t, "work", func(context.Context) (string, error) { calls++; return "worked", nil })
		agent := agentOf(t, "a", work)
		keeps := func(_ context.Context, _ checkpoint.RunInfo, s checkpoint.Store) (*adk.Runner, error) {
			return adk.NewRunner(t.Context(),
				adk.RunnerConfig{Agent: agent, CheckPointStore: s, Durability: adk.EveryStep, KeepSteps: true}), nil
		}
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": keeps}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", checkpoint.Done)
		steps, err := adk.Steps(t.Context(), store, "1")
		require.NoError(t, err)
		require.Len(t, steps, 5)

		edit := func(s *adk.Step) error { s.Text = "edited"; return nil }
		require.NoError(t, adk.Fork(t.Context(), store, "1", adk.ForkOptions{At: 4, NewID: "2", Edit: edit}))
		time.Sleep(time.Hour)
		info, _, err := store.Inspect(t.Context(), "2")
		require.NoError(t, err)
		require.Equal(t, checkpoint.Paused, info.Status)
		require.NoError(t, d.Continue(t.Context(), "2"))
		o := waitFor(t, d, "2", checkpoint.Done)
		require.Equal(t, "done: edited", o.Result.Content)
		require.Equal(t, 1, calls)
		steps, err = adk.Steps(t.Context(), store, "2")
		require.NoError(t, err)
		require.Equal(t, schema.AssistantMessage("done: edited", nil).Content, steps[4].Messages[3].(*schema.Message).Content)
	})
}
