package sqlruntest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

var dueRules = map[string]func(*testing.T, *fixture){
	"order":               dueOrder,
	"filters":             dueFilters,
	"times":               dueTimes,
	"none twice":          dueNoneTwice,
	"one of a key":        oneOfAKey,
	"a key among workers": keyAmongWorkers,
	"wake":                wake,
}

func dueOrder(t *testing.T, f *fixture) {
	for i, priority := range []int{0, 5, 0, -1, 5} {
		f.submit(t, fmt.Sprint(i), checkpoint.NewRun{Priority: priority})
	}
	for _, want := range []string{"1", "4", "0", "2", "3"} {
		require.Equal(t, want, f.due(t, checkpoint.Due{}))
	}
	f.nothingDue(t, checkpoint.Due{})
}

func dueFilters(t *testing.T, f *fixture) {
	for i, run := range []checkpoint.NewRun{{Queue: "a", Agent: "x"}, {Queue: "b", Agent: "x"}, {Queue: "c\x00%",
		Agent: "y"}} {
		f.submit(t, fmt.Sprint(i), run)
	}
	f.nothingDue(t, checkpoint.Due{Queues: []string{"a"}, Agents: []string{"y"}})
	f.nothingDue(t, checkpoint.Due{Queues: []string{"d", "c"}})
	require.Equal(t, "2", f.due(t, checkpoint.Due{Queues: []string{"c\x00%", "z"}}))
	require.Equal(t, "1", f.due(t, checkpoint.Due{Queues: []string{"b"}, Agents: []string{"y", "x"}}))
	require.Equal(t, "0", f.due(t, checkpoint.Due{Agents: []string{"x"}}))
}

func dueTimes(t *testing.T, f *fixture) {
	now := f.submit(t, "now", checkpoint.NewRun{}).Created
	require.Equal(t, "now", f.due(t, checkpoint.Due{}))
	f.submit(t, "later", checkpoint.NewRun{NotBefore: now.Add(time.Minute)})
	l := f.begin(t, "timer", checkpoint.NewRun{})
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting,
		WakeAt:  now.Add(2 * time.Minute),
		Waiting: []checkpoint.WaitPoint{{ID: "p", Kind: "timer"}}}))
	l = f.begin(t, "again", checkpoint.NewRun{})
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Ready,
		WakeAt: now.Add(3 * time.Minute)}))
	f.nothingDue(t, checkpoint.Due{})
	f.pass(t, time.Minute)
	for i, want := range []string{"now", "later", "timer", "again"} { // the lease of the first has ended
		require.Equal(t, want, f.due(t, checkpoint.Due{}))
		l, err := f.Acquire(t.Context(), want, checkpoint.LeaseRequest{Steal: true})
		require.NoError(t, err)
		done(t, l)
		if i > 0 {
			f.nothingDue(t, checkpoint.Due{})
			f.pass(t, time.Minute)
		}
	}
}

func dueNoneTwice(t *testing.T, f *fixture) {
	const runs = 100
	for i := range runs {
		f.submit(t, fmt.Sprint(i), checkpoint.NewRun{})
	}
	var mu sync.Mutex
	got := map[string]int{}
	together(16, func(int) {
		for {
			l, err := f.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
			if errors.Is(err, checkpoint.ErrNothingDue) {
				return
			}
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			got[l.Info().ID]++
			mu.Unlock()
		}
	})
	f.nothingDue(t, checkpoint.Due{})
	require.Len(t, got, runs)
	for id, n := range got {
		require.Equal(t, 1, n, "run %s", id)
	}
}

func oneOfAKey(t *testing.T, f *fixture) {
	f.submit(t, "1", checkpoint.NewRun{Key: "k"})
	f.submit(t, "2", checkpoint.NewRun{Key: "k", Priority: 9})
	f.submit(t, "other", checkpoint.NewRun{Key: "other"})
	_, err := f.Acquire(t.Context(), "2", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy)
	require.ErrorContains(t, err, `"1"`)
	require.Equal(t, "1", f.due(t, checkpoint.Due{}))
	require.Equal(t, "other", f.due(t, checkpoint.Due{}))
	f.nothingDue(t, checkpoint.Due{})
	_, err = f.Acquire(t.Context(), "3", checkpoint.LeaseRequest{Create: &checkpoint.NewRun{Key: "k"}})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy)
	_, ok, err := f.Inspect(t.Context(), "3")
	require.NoError(t, err)
	require.False(t, ok)

	l, err := f.Acquire(t.Context(), "1", checkpoint.LeaseRequest{Steal: true})
	require.NoError(t, err)
	require.NoError(t, l.Settle(t.Context(), waitsForP))
	f.nothingDue(t, checkpoint.Due{})
	require.NoError(t, f.Stop(t.Context(), "1", checkpoint.StopRequest{}))
	require.Equal(t, "2", f.due(t, checkpoint.Due{}))
	require.NoError(t, f.Continue(t.Context(), "1"))
	_, err = f.Acquire(t.Context(), "1", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy, "somebody holds another run of the key")
}

// keyAmongWorkers: of the runs of a key never two are held, and they are taken in the order in which they were made.
func keyAmongWorkers(t *testing.T, f *fixture) {
	const keys, each = 3, 8
	together(keys, func(k int) {
		for i := range each {
			_, err := f.Submit(t.Context(), fmt.Sprintf("%d/%d", k, i), checkpoint.NewRun{Key: fmt.Sprint(k)})
			assert.NoError(t, err)
		}
	})
	var mu sync.Mutex
	var held, next [keys]int
	left := keys * each
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	}
	together(8, func(int) {
		for !finished() {
			l, err := f.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
			if errors.Is(err, checkpoint.ErrNothingDue) {
				continue
			}
			if !assert.NoError(t, err) {
				return
			}
			var k, i int
			_, err = fmt.Sscanf(l.Info().ID, "%d/%d", &k, &i)
			assert.NoError(t, err)
			mu.Lock()
			assert.Zero(t, held[k], "two runs of key %d are held", k)
			assert.Equal(t, next[k], i, "of key %d", k)
			held[k]++
			next[k]++
			mu.Unlock()
			assert.NoError(t, l.AppendRecord(t.Context(), l.Info().ID, nil))
			mu.Lock()
			held[k]--
			left--
			mu.Unlock()
			assert.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done}))
		}
	})
}

func wake(t *testing.T, f *fixture) {
	all := f.Wake(t.Context(), checkpoint.Due{})
	some := f.Wake(t.Context(), checkpoint.Due{Queues: []string{"q"}, Agents: []string{"a"}})
	woken := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	f.submit(t, "1", checkpoint.NewRun{Queue: "other", Agent: "a"})
	f.submit(t, "2", checkpoint.NewRun{Queue: "q", Agent: "other"})
	require.True(t, woken(all))
	require.False(t, woken(all), "signals become one")
	require.False(t, woken(some))
	f.submit(t, "3", checkpoint.NewRun{Queue: "q", Agent: "a"})
	require.True(t, woken(some))
	f.submit(t, "4", checkpoint.NewRun{Queue: "q", Agent: "a", NotBefore: time.Now().Add(time.Hour * 1e5)})
	require.False(t, woken(some))
	l := f.take(t, "3")
	require.NoError(t, l.Settle(t.Context(), waitsForP))
	require.False(t, woken(some))
	require.NoError(t, f.Answer(t.Context(), "3", checkpoint.Answer{Point: "p"}))
	require.True(t, woken(some))
}
