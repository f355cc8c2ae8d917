// Package sqlruntest tests dialects for package sqlrun: each rule a subtest, with a clock that the tests move. A store that
// is made with the dialect has to pass package checkpointtest, too.
//
//	func TestDialect(t *testing.T) {
//		sqlruntest.Run(t, func(t *testing.T) sqlrun.Config {
//			return sqlrun.Config{DB: empty(t), Dialect: mydb.Dialect()}
//		})
//	}
package sqlruntest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// Run tests a dialect. open returns an empty database for each subtest, and may use t to clean up after it.
func Run(t *testing.T, open func(t *testing.T) sqlrun.Config) {
	t.Helper()
	for part, rules := range map[string]map[string]func(*testing.T, *fixture){"Store": storeRules, "Schema": schemaRules} {
		for name, rule := range rules {
			t.Run(part+"/"+name, func(t *testing.T) { rule(t, newFixture(t, open(t))) })
		}
	}
}

// fixture is a store with a clock of its own, in an empty database.
type fixture struct {
	*sqlrun.Store
	conf sqlrun.Config
}

func newFixture(t *testing.T, conf sqlrun.Config) *fixture {
	t.Helper()
	conf.AutoMigrate = true
	conf.Now = "(SELECT at FROM test_clock)"
	_, err := conf.DB.Exec("CREATE TABLE test_clock (at BIGINT)")
	require.NoError(t, err)
	_, err = conf.DB.Exec("INSERT INTO test_clock (at) VALUES (1700000000000000)")
	require.NoError(t, err)
	s, err := sqlrun.New(t.Context(), conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &fixture{s, conf}
}

// pass lets time pass.
func (f *fixture) pass(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := f.conf.DB.Exec(fmt.Sprintf("UPDATE test_clock SET at = at + %d", d.Microseconds()))
	require.NoError(t, err)
}

// submit makes a run, a microsecond after what was before.
func (f *fixture) submit(t *testing.T, id string, run runs.Spec) runs.Info {
	t.Helper()
	f.pass(t, time.Microsecond)
	info, err := f.Submit(t.Context(), id, run)
	require.NoError(t, err)
	return info
}

// begin makes a run and takes it.
func (f *fixture) begin(t *testing.T, id string, run runs.Spec) runs.Lease {
	t.Helper()
	f.pass(t, time.Microsecond)
	l, err := f.Acquire(t.Context(), id, runs.LeaseRequest{Owner: "owner of " + id, Create: &run})
	require.NoError(t, err)
	return l
}

// take takes a run that exists.
func (f *fixture) take(t *testing.T, id string) runs.Lease {
	t.Helper()
	l, err := f.Acquire(t.Context(), id, runs.LeaseRequest{Owner: "next owner of " + id})
	require.NoError(t, err)
	return l
}

// waitFor makes a run that waits for points.
func (f *fixture) waitFor(t *testing.T, id string, points ...runs.Question) {
	t.Helper()
	l := f.begin(t, id, runs.Spec{})
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Waiting: points}))
}

func (f *fixture) inspect(t *testing.T, id string) runs.Info {
	t.Helper()
	info, ok, err := f.Inspect(t.Context(), id)
	require.NoError(t, err)
	require.True(t, ok, "there is no run %q", id)
	return info
}

// due takes the run that is due, and returns its ID.
func (f *fixture) due(t *testing.T, due runs.Due) string {
	t.Helper()
	l, err := f.AcquireDue(t.Context(), runs.LeaseRequest{Owner: "worker"}, due)
	require.NoError(t, err)
	return l.Info().ID
}

func (f *fixture) nothingDue(t *testing.T, due runs.Due) {
	t.Helper()
	l, err := f.AcquireDue(t.Context(), runs.LeaseRequest{Owner: "worker"}, due)
	require.ErrorIs(t, err, runs.ErrNothingDue)
	require.Nil(t, l)
}

// listed returns the IDs of a query.
func listed(t *testing.T, s runs.Inspector, q runs.Query) (ids []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), q) {
		require.NoError(t, err)
		ids = append(ids, info.ID)
	}
	return ids
}

// records requires that a journal has the records want.
func records(t *testing.T, j runs.Journal, id string, want ...string) {
	t.Helper()
	got, err := j.ReadRecords(t.Context(), id)
	require.NoError(t, err)
	var all []string
	for _, r := range got {
		all = append(all, string(r))
	}
	require.Equal(t, want, all)
}

func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// done settles a run as done.
func done(t *testing.T, l runs.Lease) {
	t.Helper()
	require.NoError(t, l.Settle(context.WithoutCancel(t.Context()), runs.Settlement{Status: runs.Done}))
}
