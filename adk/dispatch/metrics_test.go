package dispatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// measured keeps what it is given.
type measured struct {
	mu       sync.Mutex // guards the fields below
	counts   map[dispatch.Counter]int
	observed map[dispatch.Histogram][]time.Duration
}

func (m *measured) Count(what dispatch.Counter, _ runs.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

func (m *measured) Observe(what dispatch.Histogram, d time.Duration, _ runs.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.observed[what] = append(m.observed[what], d)
}

// TestWork_CountsWhatItDoes: runs that are done, how late they were taken and how long they took, renewals, a run that was
// taken away, and the write that was refused; the trace of a run reaches its tools.
// Rule distributed/D14.
func TestWork_CountsWhatItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type traceKey struct{}
		m := &measured{counts: map[dispatch.Counter]int{}, observed: map[dispatch.Histogram][]time.Duration{}}
		store := checkpoint.NewMemoryStore()
		var trace any
		agent := agentOf(t, "a", toolNamed(t, "work", func(ctx context.Context) (string, error) {
			trace = ctx.Value(traceKey{})
			time.Sleep(time.Minute)
			return "worked", nil
		}))
		conf := dispatch.Config{TTL: 3 * time.Second, Metrics: m, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)},
			Context: func(ctx context.Context, run runs.Info) context.Context {
				return context.WithValue(ctx, traceKey{}, run.Trace)
			}}
		d := dispatch.New(store, conf)
		job := jobOf("1", "a")
		job.Trace = "00-trace"
		_, err := d.Submit(t.Context(), job)
		require.NoError(t, err)
		time.Sleep(time.Minute) // no worker runs yet
		d, stop := working(t, store, conf, dispatch.WorkerConfig{})
		waitFor(t, d, "1", runs.Done)
		require.Equal(t, "00-trace", trace)
		require.Equal(t, 1, m.counts[dispatch.CountAttempt])
		require.Equal(t, 1, m.counts[dispatch.CountDone])
		require.GreaterOrEqual(t, m.observed[dispatch.ObserveLag][0], time.Minute)
		require.GreaterOrEqual(t, m.observed[dispatch.ObserveAttempt][0], time.Minute)
		require.Greater(t, len(m.observed[dispatch.ObserveRenewal]), 30)

		_, err = d.Submit(t.Context(), jobOf("2", "a"))
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		_, err = store.Acquire(t.Context(), "2", runs.LeaseRequest{Steal: true})
		require.NoError(t, err)
		stop()
		require.Equal(t, 1, m.counts[dispatch.CountLost])
		require.Equal(t, 1, m.counts[dispatch.CountFenced])
		time.Sleep(time.Minute) // the call that was abandoned comes back
	})
}

// TestStretch_OfARunThatHasEndedTouchesNothing: any number of callers learn its outcome, at the same time.
// Rule distributed/D1.
func TestStretch_OfARunThatHasEndedTouchesNothing(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))}})
	_, err := d.Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	_, err = d.Execute(t.Context(), "1")
	require.NoError(t, err)
	before, _, err := store.Inspect(t.Context(), "1")
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			o, err := d.Execute(context.Background(), "1")
			if err != nil || o.Status != runs.Done || o.Message == nil {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	all.Wait()
	after, _, err := store.Inspect(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, before, after)
}
