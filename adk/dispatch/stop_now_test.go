package dispatch_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
)

// TestStop_EndsACallThatIsUnderWay: a request to stop at once ends a call in flight long before the lease is renewed, also
// through stores that wrap the store of the lease, and from another process.
// Rule distributed/F18.
func TestStop_EndsACallThatIsUnderWay(t *testing.T) {
	wraps := map[string]func(checkpoint.RunStore) checkpoint.RunStore{
		"plain": func(s checkpoint.RunStore) checkpoint.RunStore { return s },
		"sealed": func(s checkpoint.RunStore) checkpoint.RunStore {
			return checkpoint.Seal(s, checkpoint.OneKey("k", bytes.Repeat([]byte("k"), 32)))
		},
		"scoped": func(s checkpoint.RunStore) checkpoint.RunStore { return checkpoint.Scope(s, "acme") },
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open := func() checkpoint.RunStore {
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
			worker, end := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.Runs(agent)}},
				dispatch.WorkerConfig{Poll: 10 * time.Millisecond})
			defer end()
			for who, d := range map[string]*dispatch.Dispatcher{"the worker": worker, "the same store": dispatch.New(store, dispatch.Config{}),
				"another store": dispatch.New(open(), dispatch.Config{})} {
				_, err := worker.Submit(t.Context(), jobOf(who, "a"))
				require.NoError(t, err)
				<-begun
				asked := time.Now()
				require.NoError(t, d.Stop(t.Context(), who, checkpoint.StopRequest{Immediate: true, Reason: "enough"}))
				require.EqualError(t, waitFor(t, worker, who, checkpoint.Paused).Err, "enough")
				require.Less(t, time.Since(asked), 5*time.Second, "%s: the lease is renewed after 10 s", who)
			}
		})
	}
}
