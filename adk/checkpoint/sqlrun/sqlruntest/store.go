package sqlruntest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// storeRules test what package sqlrun adds to a runs.Store, and what needs its clock or its tables. The rest is
// tested by package checkpointtest.
var storeRules = map[string]func(*testing.T, *fixture){
	"a lease that ended is taken over": takenOver,
	"renew many":                       renewMany,
	"appends of many leases":           manyAppends,
	"submit in a transaction":          submitTx,
	"wake":                             wake,
	"sweep":                            sweep,
	"remove":                           remove,
	"tenants":                          tenants,
	"hostile names":                    hostileNames,
}

func takenOver(t *testing.T, f *fixture) {
	l := f.begin(t, "id", runs.Spec{})
	f.pass(t, 29*time.Second)
	require.NoError(t, l.Renew(t.Context()))
	f.pass(t, 29*time.Second)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("x")))
	f.pass(t, 29*time.Second)
	_, err := f.Acquire(t.Context(), "id", runs.LeaseRequest{})
	require.ErrorIs(t, err, runs.ErrBusy)
	f.nothingDue(t, runs.Due{})

	f.pass(t, 2*time.Second)
	next := f.take(t, "id")
	require.Greater(t, next.Token(), l.Token())
	require.Equal(t, runs.Running, next.Info().Status)
	require.Equal(t, "owner of id", next.Info().Owner)
	f.pass(t, 31*time.Second)
	require.Equal(t, "id", f.due(t, runs.Due{}))
}

func renewMany(t *testing.T, f *fixture) {
	var all []runs.Lease
	for i := range 250 {
		all = append(all, f.begin(t, fmt.Sprint(i), runs.Spec{}))
	}
	require.NoError(t, f.Stop(t.Context(), "7", runs.StopRequest{Reason: "lunch"}))
	done(t, all[9])
	f.pass(t, 20*time.Second)
	errs := make([]error, len(all))
	together(len(all), func(i int) { errs[i] = all[i].Renew(t.Context()) })
	for i, err := range errs {
		if i == 9 {
			require.ErrorIs(t, err, runs.ErrLeaseLost)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, "lunch", (<-all[7].Stops()).Reason)
	f.pass(t, 20*time.Second)
	f.nothingDue(t, runs.Due{})
}

// manyAppends: records of one lease keep their order, and records of several leases are not mixed, however they were
// grouped.
func manyAppends(t *testing.T, f *fixture) {
	const many, each = 8, 20
	together(many, func(i int) {
		id := fmt.Sprint(i)
		l, err := f.Acquire(t.Context(), id, runs.LeaseRequest{Create: &runs.Spec{}})
		if !assert.NoError(t, err) {
			return
		}
		for n := range each {
			assert.NoError(t, l.AppendRecord(t.Context(), id, fmt.Appendf(nil, "%d of %d", n, i)))
			if n == each/2 && i == 0 {
				_, err := f.Acquire(t.Context(), id, runs.LeaseRequest{Steal: true})
				assert.NoError(t, err)
				assert.ErrorIs(t, l.AppendRecord(t.Context(), id, nil), runs.ErrLeaseLost)
				return
			}
		}
	})
	for i := 1; i < many; i++ {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprintf("%d of %d", n, i))
		}
		records(t, f, fmt.Sprint(i), want...)
		info := f.inspect(t, fmt.Sprint(i))
		require.Equal(t, each, info.Steps)
	}
	require.Equal(t, each/2+1, f.inspect(t, "0").Steps)
}

func submitTx(t *testing.T, f *fixture) {
	for _, commit := range []bool{false, true} {
		tx, err := f.conf.DB.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		info, err := f.SubmitTx(t.Context(), tx, "id", runs.Spec{Agent: "a"})
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
		_, err = f.SubmitTx(t.Context(), tx, "id", runs.Spec{Agent: "a"})
		require.ErrorIs(t, err, runs.ErrExists)
		if commit {
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		_, ok, err := f.Inspect(t.Context(), "id")
		require.NoError(t, err)
		require.Equal(t, commit, ok)
	}
}

func wake(t *testing.T, f *fixture) {
	all := f.Wake(t.Context(), runs.Due{})
	some := f.Wake(t.Context(), runs.Due{Queues: []string{"q"}, Agents: []string{"a"}})
	woken := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	f.submit(t, "1", runs.Spec{Queue: "other", Agent: "a"})
	f.submit(t, "2", runs.Spec{Queue: "q", Agent: "other"})
	require.True(t, woken(all))
	require.False(t, woken(all), "signals become one")
	require.False(t, woken(some))
	f.submit(t, "3", runs.Spec{Queue: "q", Agent: "a"})
	require.True(t, woken(some))
	f.submit(t, "4", runs.Spec{Queue: "q", Agent: "a", NotBefore: time.Now().Add(time.Hour * 1e5)})
	require.False(t, woken(some))
	l := f.take(t, "3")
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{{ID: "p"}}}))
	require.False(t, woken(some))
	require.NoError(t, f.Reply(t.Context(), "3", runs.Reply{To: "p"}))
	require.True(t, woken(some))
}

func sweep(t *testing.T, f *fixture) {
	f.conf.Retention = runs.Retention{Done: time.Hour, Waiting: -1}
	f = reopen(t, f)
	for i := range 250 {
		l := f.begin(t, fmt.Sprint(i), runs.Spec{Tags: map[string]string{"a": "b"}, Records: [][]byte{nil}})
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done, Result: []byte("x")}))
	}
	f.waitFor(t, "asks", runs.Question{ID: "p", For: []string{"ana"}})
	require.NoError(t, f.Set(t.Context(), "plain", nil))
	swept, err := f.Sweep(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, runs.Swept{}, swept)
	held := f.take(t, "7")
	f.pass(t, 2*time.Hour)
	require.NoError(t, held.Renew(t.Context()))
	swept, err = f.Sweep(t.Context(), 120)
	require.NoError(t, err)
	require.Equal(t, runs.Swept{Runs: 120, More: true}, swept)
	swept, err = f.Sweep(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, runs.Swept{Runs: 129}, swept)
	require.ElementsMatch(t, []string{"asks", "7"}, listed(t, f, runs.Query{}))
	for table, want := range map[string]int{"runs": 3, "steps": 1, "vals": 2, "asks": 1, "tags": 1} {
		require.Equal(t, want, count(t, f, table), "rows of %s", table)
	}
}

func remove(t *testing.T, f *fixture) {
	require.NoError(t, f.Remove(t.Context(), "none", false))
	l := f.begin(t, "id", runs.Spec{Tags: map[string]string{"a": "b"}, Records: [][]byte{nil}})
	require.NoError(t, l.Set(t.Context(), "id", nil))
	require.ErrorIs(t, f.Remove(t.Context(), "id", false), runs.ErrBusy)
	require.NoError(t, f.Remove(t.Context(), "id", true))
	require.ErrorIs(t, l.Renew(t.Context()), runs.ErrLeaseLost)
	require.NoError(t, f.Set(t.Context(), "plain", nil))
	require.NoError(t, f.Remove(t.Context(), "plain", false))
	for _, table := range []string{"runs", "steps", "vals", "tags"} {
		require.Zero(t, count(t, f, table), "rows of %s", table)
	}
}

func count(t *testing.T, f *fixture, table string) (n int) {
	t.Helper()
	require.NoError(t, f.conf.DB.QueryRow("SELECT COUNT(*) FROM weft_"+table).Scan(&n))
	return n
}

// reopen opens the database with what the configuration is now.
func reopen(t *testing.T, f *fixture) *fixture {
	t.Helper()
	s, err := sqlrun.New(t.Context(), f.conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &fixture{s, f.conf}
}

// tenants do not see, and not change, what others have.
func tenants(t *testing.T, f *fixture) {
	checkpointtest.Tenants(t, func(name string) runs.Store { return f.Tenant(name) })
}

func hostileNames(t *testing.T, f *fixture) {
	ids := []string{"", " ", "a\x00b", "a\x00", "\xff\xfe", "%", "%00", "#", "#" + strings.Repeat("a", 64), "é",
		"e\u0301", "日本語",
		"日\xe6", strings.Repeat("long", 1000), strings.Repeat("long", 1000) + "!", strings.Repeat("🧵", 300),
		strings.Repeat("%", 400)}
	for i, id := range ids {
		info := f.submit(t, id, runs.Spec{Agent: id, Queue: id, Key: id, Parent: id, ParentPoint: id,
			Build: id})
		require.Equal(t, []string{id, id, id, id, id, id}, []string{info.ID, info.Agent, info.Queue, info.Key,
			info.Parent, info.Build})
		require.Equal(t, info, f.inspect(t, id))
		l := f.take(t, id)
		require.NoError(t, l.AppendRecord(t.Context(), id, fmt.Append(nil, i)))
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Err: id,
			Waiting: []runs.Question{{ID: id, Address: id, Kind: runs.Kind(id), For: []string{id}}}}))
	}
	for i, id := range ids {
		records(t, f, id, fmt.Sprint(i))
		info := f.inspect(t, id)
		require.Equal(t, runs.Question{ID: id, Address: id, Kind: runs.Kind(id), For: []string{id}}, info.Waiting[0])
		require.Equal(t, id, info.Error)
		if id != "" {
			require.Equal(t, []string{id}, listed(t, f, runs.Query{WaitingFor: id, Kind: runs.Kind(id), Key: id, Parent: id,
				Agent: id}))
		}
		require.NoError(t, f.Reply(t.Context(), id, runs.Reply{To: id, By: id}))
	}
}
