package dispatch_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// TestStop_EndsACallThatIsUnderWay: a request to stop at once ends a call in flight long before the lease is renewed, also
// through stores that wrap the store of the lease, and from another process.
// Rule distributed/F18.
func TestStop_EndsACallThatIsUnderWay(t *testing.T) {
	wraps := map[string]func(runs.Store) runs.Store{
		"plain": func(s runs.Store) runs.Store { return s },
		"sealed": func(s runs.Store) runs.Store {
			return checkpoint.Seal(s, checkpoint.OneKey("k", bytes.Repeat([]byte("k"), 32)))
		},
		"scoped": func(s runs.Store) runs.Store { return checkpoint.Scope(s, "acme") },
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open := func() runs.Store {
				store, err := checkpoint.NewFileStore(dir)
				require.NoError(t, err)
				return wrap(store)
			}
			begun := make(chan struct{}, 2)
			agent := agentOf(t, "a", toolNamed(t, "work", func(ctx context.Context) (string, error) {
				begun <- struct{}{}
				<-ctx.Done()
				return "", ctx.Err()
			}))
			store := open()
			worker, end := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}},
				dispatch.WorkerConfig{Poll: 10 * time.Millisecond})
			defer end()
			for who, d := range map[string]*dispatch.Dispatcher{"the worker": worker, "the same store": dispatch.New(store, dispatch.Config{}),
				"another store": dispatch.New(open(), dispatch.Config{})} {
				_, err := worker.Submit(t.Context(), jobOf(who, "a"))
				require.NoError(t, err)
				<-begun
				asked := time.Now()
				require.NoError(t, d.Stop(t.Context(), who, runs.StopRequest{Immediate: true, Reason: "enough"}))
				require.EqualError(t, waitFor(t, worker, who, runs.Paused).Err, "enough")
				require.Less(t, time.Since(asked), 5*time.Second, "%s: the lease is renewed after 10 s", who)
			}
		})
	}
}
