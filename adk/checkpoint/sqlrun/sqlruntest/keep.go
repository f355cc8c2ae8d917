package sqlruntest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

var keepRules = map[string]func(*testing.T, *fixture){
	"sweep":  sweep,
	"remove": remove,
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
	for table, want := range map[string]int{"runs": 3, "steps": 1, "vals": 2, "questions": 1, "waiters": 1, "tags": 1} {
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
