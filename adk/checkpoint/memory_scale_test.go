package checkpoint

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// keeps makes a store with so many runs each that are done, wait for an answer, sleep, and are behind another of their key.
func keeps(t *testing.T, n int) *MemoryStore {
	t.Helper()
	s := NewMemoryStore()
	for i := range n {
		for _, status := range []runs.Status{runs.Done, runs.Waiting, runs.Ready} {
			end := runs.Settlement{Status: status}
			if status == runs.Waiting {
				end.Waiting = []runs.Question{{ID: "p", Kind: "approval", For: []string{fmt.Sprint("person ", i)}}}
			}
			tags := map[string]string{"owner": fmt.Sprint("owner ", i), "all": "1"}
			run := runs.Spec{Agent: "a", Tags: tags, Parent: fmt.Sprint("parent ", i), Key: fmt.Sprint("key ", i)}
			if status == runs.Ready {
				run.NotBefore, run.Key = time.Now().Add(time.Hour), ""
				_, err := s.Submit(t.Context(), fmt.Sprint(status, i), run)
				require.NoError(t, err)
				continue
			}
			l, err := s.Acquire(t.Context(), fmt.Sprint(status, i), runs.LeaseRequest{Create: &run})
			require.NoError(t, err)
			require.NoError(t, l.Settle(t.Context(), end))
		}
	}
	return s
}

// TestMemoryStore_CostsNoMoreTheMoreItKeeps: what workers and servers ask with each run costs the same.
// Rule distributed/B9.
func TestMemoryStore_CostsNoMoreTheMoreItKeeps(t *testing.T) {
	const few, many = 300, 9_000
	measure := func(s *MemoryStore) map[string]time.Duration {
		list := func(q runs.Query) func() {
			return func() {
				for _, err := range s.List(t.Context(), q) {
					require.NoError(t, err)
				}
			}
		}
		took := map[string]time.Duration{}
		for name, do := range map[string]func(){
			"poll": func() {
				_, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
				require.ErrorIs(t, err, runs.ErrNothingDue)
			},
			"sweep": func() {
				_, err := s.Sweep(t.Context(), 100)
				require.NoError(t, err)
			},
			"list by tag":     list(runs.Query{Tags: map[string]string{"owner": "owner 7", "all": "1"}}),
			"list by key":     list(runs.Query{Key: "key 7"}),
			"list by parent":  list(runs.Query{Parent: "parent 7"}),
			"list by agent":   list(runs.Query{Agent: "none"}),
			"list of a state": list(runs.Query{Status: []runs.Status{runs.Running}}),
			"list by no tag":  list(runs.Query{Tags: map[string]string{"owner": "none"}}),
			"submit and remove": func() {
				_, err := s.Submit(t.Context(), "new", runs.Spec{Agent: "a", Tags: map[string]string{"owner": "owner 7"}})
				require.NoError(t, err)
				require.NoError(t, s.Remove(t.Context(), "new", true))
			},
		} {
			var all []time.Duration
			for range 31 {
				began := time.Now()
				do()
				all = append(all, time.Since(began))
			}
			slices.Sort(all)
			took[name] = all[len(all)/2]
		}
		return took
	}
	before, after := measure(keeps(t, few)), measure(keeps(t, many))
	for name, took := range after {
		if took > 4*before[name]+50*time.Microsecond {
			t.Errorf("%s takes %v with %d runs of each kind, and %v with %d; want it to be flat", name, before[name], few, took, many)
		}
	}
}

// A store whose runs are taken by their IDs, and never looked for, keeps nothing of what came and went.
// Rule distributed/Q14.
func TestMemoryStore_TimetablesDoNotGrow(t *testing.T) {
	s := NewMemoryStore()
	for i := range 20 * fewEntries {
		l, err := s.Acquire(t.Context(), fmt.Sprint(i), runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
		require.NoError(t, err)
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done}))
		require.NoError(t, s.Remove(t.Context(), fmt.Sprint(i), false))
	}
	require.LessOrEqual(t, len(s.runs.index.later.entries)+len(s.runs.index.expiring.entries), 8*fewEntries)
}
