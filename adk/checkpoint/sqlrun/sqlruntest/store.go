package sqlruntest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

// storeRules are what package sqlrun adds to a checkpoint.RunStore, and what needs its clock or its tables. The rest is
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
	l := f.begin(t, "id", checkpoint.NewRun{})
	f.pass(t, 29*time.Second)
	require.NoError(t, l.Renew(t.Context()))
	f.pass(t, 29*time.Second)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("x")))
	f.pass(t, 29*time.Second)
	_, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy)
	f.nothingDue(t, checkpoint.Due{})

	f.pass(t, 2*time.Second)
	next := f.take(t, "id")
	require.Greater(t, next.Token(), l.Token())
	require.Equal(t, checkpoint.Running, next.Info().Status)
	require.Equal(t, "owner of id", next.Info().Owner)
	f.pass(t, 31*time.Second)
	require.Equal(t, "id", f.due(t, checkpoint.Due{}))
}

func renewMany(t *testing.T, f *fixture) {
	var all []checkpoint.Lease
	for i := range 250 {
		all = append(all, f.begin(t, fmt.Sprint(i), checkpoint.NewRun{}))
	}
	require.NoError(t, f.Stop(t.Context(), "7", checkpoint.StopRequest{Reason: "lunch"}))
	done(t, all[9])
	f.pass(t, 20*time.Second)
	errs := make([]error, len(all))
	together(len(all), func(i int) { errs[i] = all[i].Renew(t.Context()) })
	for i, err := range errs {
		if i == 9 {
			require.ErrorIs(t, err, checkpoint.ErrLeaseLost)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, "lunch", (<-all[7].Stops()).Reason)
	f.pass(t, 20*time.Second)
	f.nothingDue(t, checkpoint.Due{})
}

// manyAppends: records of one lease keep their order, and those of several are not mixed, however they were grouped.
func manyAppends(t *testing.T, f *fixture) {
	const runs, each = 8, 20
	together(runs, func(i int) {
		id := fmt.Sprint(i)
		l, err := f.Acquire(t.Context(), id, checkpoint.LeaseRequest{Create: &checkpoint.NewRun{}})
		if !assert.NoError(t, err) {
			return
		}
		for n := range each {
			assert.NoError(t, l.AppendRecord(t.Context(), id, fmt.Appendf(nil, "%d of %d", n, i)))
			if n == each/2 && i == 0 {
				_, err := f.Acquire(t.Context(), id, checkpoint.LeaseRequest{Steal: true})
				assert.NoError(t, err)
				assert.ErrorIs(t, l.AppendRecord(t.Context(), id, nil), checkpoint.ErrLeaseLost)
				return
			}
		}
	})
	for i := 1; i < runs; i++ {
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
		info, err := f.SubmitTx(t.Context(), tx, "id", checkpoint.NewRun{Agent: "a"})
		require.NoError(t, err)
		require.Equal(t, checkpoint.Ready, info.Status)
		_, err = f.SubmitTx(t.Context(), tx, "id", checkpoint.NewRun{Agent: "a"})
		require.ErrorIs(t, err, checkpoint.ErrRunExists)
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
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: []checkpoint.WaitPoint{{ID: "p"}}}))
	require.False(t, woken(some))
	require.NoError(t, f.Answer(t.Context(), "3", checkpoint.Answer{Point: "p"}))
	require.True(t, woken(some))
}

func sweep(t *testing.T, f *fixture) {
	f.conf.Retention = checkpoint.Retention{Done: time.Hour, Waiting: -1}
	f = reopen(t, f)
	for i := range 250 {
		l := f.begin(t, fmt.Sprint(i), checkpoint.NewRun{Tags: map[string]string{"a": "b"}, Records: [][]byte{nil}})
		require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done, Result: []byte("x")}))
	}
	f.waitFor(t, "asks", checkpoint.WaitPoint{ID: "p", For: []string{"ana"}})
	require.NoError(t, f.Set(t.Context(), "plain", nil))
	swept, err := f.Sweep(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, checkpoint.Swept{}, swept)
	held := f.take(t, "7")
	f.pass(t, 2*time.Hour)
	require.NoError(t, held.Renew(t.Context()))
	swept, err = f.Sweep(t.Context(), 120)
	require.NoError(t, err)
	require.Equal(t, checkpoint.Swept{Runs: 120, More: true}, swept)
	swept, err = f.Sweep(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, checkpoint.Swept{Runs: 129}, swept)
	require.ElementsMatch(t, []string{"asks", "7"}, listed(t, f, checkpoint.Query{}))
	for table, want := range map[string]int{"runs": 3, "steps": 1, "vals": 2, "asks": 1, "tags": 1} {
		require.Equal(t, want, count(t, f, table), "rows of %s", table)
	}
}

func remove(t *testing.T, f *fixture) {
	require.NoError(t, f.Remove(t.Context(), "none", false))
	l := f.begin(t, "id", checkpoint.NewRun{Tags: map[string]string{"a": "b"}, Records: [][]byte{nil}})
	require.NoError(t, l.Set(t.Context(), "id", nil))
	require.ErrorIs(t, f.Remove(t.Context(), "id", false), checkpoint.ErrRunBusy)
	require.NoError(t, f.Remove(t.Context(), "id", true))
	require.ErrorIs(t, l.Renew(t.Context()), checkpoint.ErrLeaseLost)
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
	checkpointtest.Tenants(t, func(name string) checkpoint.RunStore { return f.Tenant(name) })
}

func hostileNames(t *testing.T, f *fixture) {
	ids := []string{"", " ", "a\x00b", "a\x00", "\xff\xfe", "%", "%00", "#", "#" + strings.Repeat("a", 64), "é",
		"e\u0301", "日本語",
		"日\xe6", strings.Repeat("long", 1000), strings.Repeat("long", 1000) + "!", strings.Repeat("🧵", 300),
		strings.Repeat("%", 400)}
	for i, id := range ids {
		info := f.submit(t, id, checkpoint.NewRun{Agent: id, Queue: id, Key: id, Parent: id, ParentPoint: id,
			Build: id})
		require.Equal(t, []string{id, id, id, id, id, id}, []string{info.ID, info.Agent, info.Queue, info.Key,
			info.Parent, info.Build})
		require.Equal(t, info, f.inspect(t, id))
		l := f.take(t, id)
		require.NoError(t, l.AppendRecord(t.Context(), id, fmt.Append(nil, i)))
		require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting, Err: id,
			Waiting: []checkpoint.WaitPoint{{ID: id, Address: id, Kind: id, For: []string{id}}}}))
	}
	for i, id := range ids {
		records(t, f, id, fmt.Sprint(i))
		info := f.inspect(t, id)
		require.Equal(t, checkpoint.WaitPoint{ID: id, Address: id, Kind: id, For: []string{id}}, info.Waiting[0])
		require.Equal(t, id, info.Error)
		if id != "" {
			require.Equal(t, []string{id}, listed(t, f, checkpoint.Query{WaitingFor: id, Kind: id, Key: id, Parent: id,
				Agent: id}))
		}
		require.NoError(t, f.Answer(t.Context(), id, checkpoint.Answer{Point: id, By: id}))
	}
}
