package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// sweptStore is a store of events in which it takes a while to list them.
type sweptStore struct {
	runlog.Store
	lists, atOnce, most atomic.Int32
}

func (s *sweptStore) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
	s.lists.Add(1)
	if n := s.atOnce.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.atOnce.Add(-1)
	time.Sleep(20 * time.Second)
	return s.Store.List(ctx, q)
}

// Rule runlog/E10.
func TestWork_OneWorkerAtATimeRemovesOldEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := &sweptStore{Store: runlog.NewMemoryStore()}
		store := checkpoint.NewMemoryStore()
		agent := speaking(t, adktest.NewModel(t, adktest.Says("hello").Repeated()))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: logOf(t, events)}
		seldom := dispatch.WorkerConfig{Poll: 10 * time.Second} // for a week of polls
		d, stop := working(t, store, conf, seldom)
		for range 2 {
			_, alsoStop := working(t, store, conf, seldom)
			defer alsoStop()
		}
		defer stop()
		for i := range 3 {
			_, err := d.Submit(t.Context(), jobOf(fmt.Sprint(i), "a"))
			require.NoError(t, err)
			waitFor(t, d, fmt.Sprint(i), runs.Done)
		}
		_, err := d.Submit(t.Context(), dispatch.Job{ID: "waits", Agent: "nobody's", Messages: streamingJob().Messages})
		require.NoError(t, err)
		for _, id := range []string{"waits", "stray"} {
			require.NoError(t, events.Append(t.Context(), id, []runlog.Event{{V: 1, Run: id, Seq: 1, Type: runlog.RunStart,
				Data: &runlog.RunStartData{}}}))
		}
		logged := func() (n int) {
			for _, err := range events.Store.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				n++
			}
			return n
		}
		time.Sleep(55 * time.Minute)
		require.Equal(t, 5, logged())
		time.Sleep(10 * time.Minute)
		require.Equal(t, 2, logged(), "what has ended is swept")
		time.Sleep(7 * 24 * time.Hour)
		require.Equal(t, 1, logged(), "and what the store of runs does not have")
		require.EqualValues(t, 1, events.most.Load(), "workers at once")
		require.Greater(t, events.lists.Load(), int32(100))
		synctest.Wait()
		for info, err := range store.List(t.Context(), runs.Query{Queue: "weft.sweep"}) {
			require.NoError(t, err)
			require.NotEmpty(t, info.Owner, "it is there while a worker sweeps")
		}
	})
}

// Rule distributed/Q15.
func TestSweep_ItsLeaseIsNoRunOfAnybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own = "weft.sweep"
		events, all := &sweptStore{Store: runlog.NewMemoryStore()}, checkpoint.NewMemoryStore()
		store := checkpoint.Scope(all, "acme")
		d := dispatch.New(store, dispatch.Config{Log: logOf(t, events)})
		go func() { _ = d.Sweep(t.Context(), 0) }()
		time.Sleep(time.Second)
		held, exists, err := store.Inspect(t.Context(), own)
		require.NoError(t, err)
		require.True(t, exists && held.Owner != "", "somebody sweeps")
		for _, s := range []runs.Store{all, store} {
			counts, err := s.Count(t.Context(), runs.Query{})
			require.NoError(t, err)
			require.Empty(t, counts)
			for info := range s.List(t.Context(), runs.Query{}) {
				t.Errorf("run %q is listed", info.ID)
			}
		}

		_, exists, err = d.Inspect(t.Context(), own)
		require.NoError(t, err)
		require.False(t, exists)
		_, waited := d.Wait(t.Context(), own)
		_, executed := d.Execute(t.Context(), own)
		for doing, err := range map[string]error{"wait": waited, "stretch": executed, "answer": d.Reply(t.Context(), own),
			"stop": d.Stop(t.Context(), own, runs.StopRequest{}), "continue": d.Continue(t.Context(), own),
			"fail": d.Fail(t.Context(), own, io.EOF)} {
			require.ErrorIs(t, err, runs.ErrNotFound, doing)
		}
		require.NoError(t, d.Remove(t.Context(), own, true))
		_, err = d.Submit(t.Context(), jobOf(own, "a"))
		require.ErrorContains(t, err, "Weft's own")
		_, exists, err = store.Inspect(t.Context(), own)
		require.NoError(t, err)
		require.True(t, exists, "nobody has disturbed it")
		time.Sleep(time.Minute)

		_, err = store.Submit(t.Context(), own, runs.Spec{Agent: "a"}) // past the dispatcher
		require.NoError(t, err)
		require.ErrorContains(t, d.Sweep(t.Context(), 0), "is not Weft's")
		info, exists, err := store.Inspect(t.Context(), own)
		require.NoError(t, err)
		require.True(t, exists && info.Status == runs.Ready && info.Owner == "", "what is somebody's stays")
	})
}

// The retention of the store of runs says how long events stay, also below wrappers of it; a worker may have another time.
//
// Rule runlog/E10.
func TestWork_KeepsEventsForAsLongAsTheStoreOfRunsSays(t *testing.T) {
	for keep, want := range map[time.Duration]int{0: 1, time.Minute: 0} {
		synctest.Test(t, func(t *testing.T) {
			events, store := runlog.NewMemoryStore(), checkpoint.NewMemoryStore()
			store.Retention = runs.Retention{Done: -1, Events: 6 * time.Hour}
			agent := speaking(t, adktest.NewModel(t, adktest.Says("hello")))
			conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: logOf(t, events)}
			d, stop := working(t, checkpoint.Scope(store, "acme"), conf, dispatch.WorkerConfig{KeepEvents: keep})
			defer stop()
			_, err := d.Submit(t.Context(), jobOf("1", "a"))
			require.NoError(t, err)
			waitFor(t, d, "1", runs.Done)
			logged := func() (n int) {
				for _, err := range events.List(t.Context(), runlog.Query{}) {
					require.NoError(t, err)
					n++
				}
				return n
			}
			time.Sleep(5 * time.Hour)
			require.Equal(t, want, logged())
			time.Sleep(2 * time.Hour)
			require.Equal(t, 0, logged())
		})
	}
}

// endlessStore is a store of runs in which more runs expire than a sweep has time for.
type endlessStore struct{ runs.Store }

func (endlessStore) Sweep(context.Context, int) (runs.Swept, error) {
	time.Sleep(time.Second)
	return runs.Swept{Runs: 1, More: true}, nil
}

// Who has runs executed by others than workers removes what is kept no longer by himself, and is not kept by it.
//
// Rules distributed/C2, runlog/E10.
func TestSweep_RemovesWhatIsKeptNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, store := runlog.NewMemoryStore(), checkpoint.NewMemoryStore()
		agent := speaking(t, adktest.NewModel(t, adktest.Says("hello")))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: logOf(t, events)}
		d := dispatch.New(store, conf)
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		_, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		synctest.Wait() // until it is recorded
		left := func() (count, logs int) {
			require.NoError(t, d.Sweep(t.Context(), 0))
			for _, err := range store.List(t.Context(), runs.Query{}) {
				require.NoError(t, err)
				count++
			}
			for _, err := range events.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				logs++
			}
			return count, logs
		}
		count, logs := left()
		require.Equal(t, []int{1, 1}, []int{count, logs})
		time.Sleep(2 * time.Hour)
		count, logs = left()
		require.Equal(t, []int{1, 0}, []int{count, logs}, "the events were kept for an hour")
		time.Sleep(24 * time.Hour)
		count, _ = left()
		require.Zero(t, count, "and the run for a day")

		begun := time.Now()
		require.NoError(t, dispatch.New(endlessStore{store}, conf).Sweep(t.Context(), 0))
		require.Equal(t, time.Minute, time.Since(begun).Round(time.Minute))
	})
}
