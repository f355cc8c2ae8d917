package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
)

// TestWork_AClockThatIsOffDecidesNothing: the store's clock is ten minutes before or behind the worker's clock, and
// timers, expiries, deadlines, retries take as long as they are to, without looking at the store more often.
// Rules distributed/D4, distributed/D8.
func TestWork_AClockThatIsOffDecidesNothing(t *testing.T) {
	for _, off := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		t.Run(fmt.Sprint(off), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { clockIsOff(t, off) }) })
	}
}

func clockIsOff(t *testing.T, off time.Duration) {
	memory := checkpoint.NewMemoryStore()
	memory.Clock = func() time.Time { return time.Now().Add(off) }
	store := &asked{MemoryStore: memory}
	sleeps := toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
		return "slept", dispatch.SleepFor(ctx, time.Hour)
	})
	asks := toolNamed(t, "ask", func(ctx context.Context) (string, error) {
		if _, ok, _ := tool.GetResumeContext[*runs.Expired](ctx); ok {
			return "nobody answers", nil
		}
		return "", tool.Interrupt(ctx, urgent{memory.Clock().Add(2 * time.Hour)})
	})
	waits := toolNamed(t, "wait", func(ctx context.Context) (string, error) { return "", tool.Interrupt(ctx, "may I?") })
	failures := 0
	fails := toolNamed(t, "fail", func(context.Context) (string, error) {
		if failures++; failures == 1 {
			return "", later(3 * time.Hour)
		}
		return "passed", nil
	})
	agents := dispatch.Agents{}
	for name, work := range map[string]tool.BaseTool{"sleep": sleeps, "ask": asks, "wait": waits, "fail": again{fails.(tool.InvokableTool)}} {
		agents[name] = dispatch.RunnerOf(agentOf(t, name, work))
	}
	d, stop := working(t, store, dispatch.Config{Agents: agents}, dispatch.WorkerConfig{})
	defer stop()
	for name := range agents {
		job := jobOf(name, name)
		if name == "wait" {
			job.Deadline = memory.Clock().Add(4 * time.Hour)
		}
		_, err := d.Submit(t.Context(), job)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		id    string
		after time.Duration
		ends  runs.Status
	}{
		{"sleep", time.Hour, runs.Done}, {"ask", 2 * time.Hour, runs.Done},
		{"fail", 3 * time.Hour, runs.Done}, {"wait", 4 * time.Hour, runs.Failed},
	} {
		time.Sleep(59 * time.Minute)
		info, _, err := store.Inspect(t.Context(), c.id)
		require.NoError(t, err)
		require.NotEqual(t, c.ends, info.Status, "%s ended too early", c.id)
		time.Sleep(time.Minute + 5*time.Second)
		info, _, err = store.Inspect(t.Context(), c.id)
		require.NoError(t, err)
		require.Equal(t, c.ends, info.Status, "%s after %v: %s", c.id, c.after, info.Error)
	}
	o, err := d.Wait(t.Context(), "wait")
	require.NoError(t, err)
	require.ErrorContains(t, o.Err, "the deadline of the run is over")
	require.Less(t, store.times.Load(), int64(4*3600*2), "an idle worker looks once a second")
}

// later is an error that passes after a time.
type later time.Duration

func (later) Error() string            { return "later" }
func (later) Retryable() bool          { return true }
func (l later) RetryIn() time.Duration { return time.Duration(l) }

// asked counts how often a store is asked for what is due.
type asked struct {
	*checkpoint.MemoryStore
	times atomic.Int64
}

func (a *asked) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	a.times.Add(1)
	return a.MemoryStore.AcquireDue(ctx, req, due)
}

// TestWork_ARunIsKeptWhileItsRunnerIsMade: what makes the runner may take longer than the lease. Rules distributed/F7.
func TestWork_ARunIsKeptWhileItsRunnerIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		agent := agentOf(t, "a")
		slow := func(ctx context.Context, run runs.Info, store checkpoint.Store) (*adk.Runner, error) {
			made.Add(1)
			time.Sleep(time.Minute)
			return dispatch.RunnerOf(agent)(ctx, run, store)
		}
		store := checkpoint.NewMemoryStore()
		conf := dispatch.Config{TTL: 5 * time.Second, Agents: dispatch.Agents{"a": slow}}
		d, stop := working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		_, stopOther := working(t, store, conf, dispatch.WorkerConfig{})
		defer stopOther()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Done)
		require.EqualValues(t, 1, made.Load())
	})
}

// TestRemove_OfARunThatIsExecutedRemovesNothing, neither of it nor of its children.
func TestRemove_OfARunThatIsExecutedRemovesNothing(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	d := dispatch.New(store, dispatch.Config{})
	for _, run := range [][2]string{{"1", ""}, {"2", "1"}, {"3", "2"}} {
		_, err := store.Submit(t.Context(), run[0], runs.Spec{Agent: "a", Parent: run[1]})
		require.NoError(t, err)
	}
	for _, held := range []string{"1", "3"} {
		lease, err := store.Acquire(t.Context(), held, runs.LeaseRequest{})
		require.NoError(t, err)
		require.ErrorIs(t, d.Remove(t.Context(), "1", false), runs.ErrBusy)
		counts, err := store.Count(t.Context(), runs.Query{})
		require.NoError(t, err)
		require.EqualValues(t, 2, counts[runs.Ready])
		require.EqualValues(t, 1, counts[runs.Running])
		require.NoError(t, lease.Settle(t.Context(), runs.Settlement{Status: runs.Ready}))
	}
	failing := &unremovable{store, "2"}
	require.Error(t, dispatch.New(failing, dispatch.Config{}).Remove(t.Context(), "1", false))
	counts, err := store.Count(t.Context(), runs.Query{})
	require.NoError(t, err)
	require.Equal(t, map[runs.Status]int64{runs.Ready: 2}, counts, "the next attempt finds the rest")
	require.NoError(t, d.Remove(t.Context(), "1", false))
	counts, err = store.Count(t.Context(), runs.Query{})
	require.NoError(t, err)
	require.Empty(t, counts)
}

// unremovable does not remove one run.
type unremovable struct {
	*checkpoint.MemoryStore
	id string
}

func (u *unremovable) Remove(ctx context.Context, id string, force bool) error {
	if id == u.id {
		return errors.New("not now")
	}
	return u.MemoryStore.Remove(ctx, id, force)
}
