package sqlite

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun/sqlruntest"
	"github.com/weftgo/weft/runs"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore_Conforms(t *testing.T) {
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(t *testing.T) checkpoint.Store { return newStore(t) },
		Damage: func(t *testing.T, s checkpoint.Store, id string) {
			_, err := s.(*Store).writes.Exec(`UPDATE weft_runs SET data = CAST('{"v":99}' AS BLOB) WHERE id = ?`, id)
			require.NoError(t, err)
		},
	})
}

func TestDialect_Conforms(t *testing.T) { sqlruntest.Run(t, noTables) }

// Rule distributed/B9.
func TestStore_CostsNoMoreTheMoreItKeeps(t *testing.T) { sqlruntest.Scale(t, noTables) }

// noTables is a file without tables.
func noTables(t *testing.T) sqlrun.Config {
	s := newStore(t)
	for _, table := range []string{"runs", "steps", "vals", "asks", "tags", "locks", "events", "logs", "tokens", "schema"} {
		_, err := s.writes.Exec("DROP TABLE weft_" + table)
		require.NoError(t, err)
	}
	return sqlrun.Config{DB: s.writes, Reads: s.reads, Dialect: Dialect()}
}

// TestNew_HasTheSettingsItPromises: see README.md.
func TestNew_HasTheSettingsItPromises(t *testing.T) {
	s := newStore(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
		for _, db := range []*sql.DB{s.writes, s.reads} {
			var got string
			require.NoError(t, db.QueryRow("PRAGMA "+pragma).Scan(&got))
			require.Equal(t, want, got, pragma)
		}
	}
	_, err := s.reads.Exec("DELETE FROM weft_runs")
	require.ErrorContains(t, err, "readonly")
}

func TestNew_RefusesAMissingFolder(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "none", "runs.db"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Open(t.Context(), "")
	require.ErrorContains(t, err, "Path")
}

func TestNew_NamesWithWhatURLsReserve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "100% #1?a=b&c.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.FileExists(t, path)
}

// TestStore_BusyForTooLongIsUnavailable: another process that writes for ever does not fail a run, but its call, which
// can be made again. Reading is possible meanwhile.
// Rule distributed/B4.
func TestStore_BusyForTooLongIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := New(t.Context(), Config{Path: path, BusyTimeout: 10 * time.Millisecond, Patience: 30 * time.Millisecond})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Set(t.Context(), "id", []byte("old")))
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{}})
	require.NoError(t, err)

	other, err := Open(t.Context(), path)
	require.NoError(t, err)
	defer other.Close()
	tx, err := other.writes.Begin()
	require.NoError(t, err)
	require.ErrorIs(t, s.Set(t.Context(), "id", []byte("new")), sqlrun.ErrUnavailable)
	require.ErrorIs(t, l.AppendRecord(t.Context(), "run", []byte("x")), sqlrun.ErrUnavailable)
	require.ErrorIs(t, l.Renew(t.Context()), sqlrun.ErrUnavailable)
	got, _, err := s.Get(t.Context(), "id")
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	require.NoError(t, tx.Rollback())
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("x")))
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Len(t, records, 1)
}

// TestStore_ClosedFails: and does not try for a minute.
func TestStore_ClosedFails(t *testing.T) {
	s := newStore(t)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Error(t, s.Set(t.Context(), "id", nil))
	err = l.AppendRecord(t.Context(), "run", nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, sqlrun.ErrUnavailable)
}

// Rule distributed/X3.
func TestStore_CanBeSealedAgain(t *testing.T) { checkpointtest.Reseal(t, newStore(t)) }

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	open := func() *Store {
		s, err := Open(t.Context(), file)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	checkpointtest.Stops(t, open(), open())
}

// TestStore_RefusesWhatWasDamaged: no damaged value of a run is taken for another one, and the worker continues.
// Rule distributed/B23.
func TestStore_RefusesWhatWasDamaged(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"whole", "damaged"} {
		l, err := s.Acquire(t.Context(), id, runs.LeaseRequest{Create: &runs.Spec{}})
		require.NoError(t, err)
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("record of "+id)))
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Checkpoint: []byte("checkpoint of " + id),
			Waiting: []runs.Question{{ID: "q", Kind: "question"}}}))
		require.NoError(t, s.Reply(t.Context(), id, runs.Reply{To: "q", Data: []byte("yes")}))
	}
	for _, values := range []string{
		`UPDATE weft_steps SET data = CAST(replace(CAST(data AS TEXT), 'record of damaged', 'record of dAmaged') AS BLOB)`,
		`UPDATE weft_vals SET data = (SELECT o.data FROM weft_vals o WHERE o.kind = weft_vals.kind AND o.run <> weft_vals.run)
			WHERE run = (SELECT no FROM weft_runs WHERE id = 'damaged')`, // values of another run
	} {
		_, err := s.writes.Exec(values)
		require.NoError(t, err)
	}
	_, err := s.ReadRecords(t.Context(), "damaged")
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, `record 1 in the journal of run "damaged"`)
	_, _, err = s.Get(t.Context(), "damaged")
	require.ErrorIs(t, err, runs.ErrUnreadable)
	_, err = s.Acquire(t.Context(), "damaged", runs.LeaseRequest{})
	require.ErrorIs(t, err, runs.ErrUnreadable)
	l, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
	require.Equal(t, "whole", l.Info().ID)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrUnreadable)
	require.NoError(t, s.Remove(t.Context(), "damaged", false))
}

func TestNew_RefusesTablesOfAnOlderBuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	_, err = s.writes.Exec("UPDATE weft_schema SET version = 1")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, noMigrate := range []bool{false, true} {
		_, err = New(t.Context(), Config{Path: path, NoMigrate: noMigrate})
		require.ErrorContains(t, err, "were written by an older Weft")
	}
}

// TestSettle_RemovesWhatHasExpired: a program without workers does not keep runs that have ended for ever.
// Rule distributed/C2.
func TestSettle_RemovesWhatHasExpired(t *testing.T) {
	of := newStore(t)
	settle := func(id string, sweepEvery time.Duration) *sqlrun.Store {
		s, err := sqlrun.New(t.Context(), sqlrun.Config{DB: of.writes, Reads: of.reads, Dialect: Dialect(), SweepEvery: sweepEvery,
			Retention: runs.Retention{Done: time.Millisecond}})
		require.NoError(t, err)
		l, err := s.Acquire(t.Context(), id, runs.LeaseRequest{Create: &runs.Spec{}})
		require.NoError(t, err)
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done}))
		return s
	}
	s := settle("first", -1)
	time.Sleep(10 * time.Millisecond) // it expires
	_, kept, err := s.Inspect(t.Context(), "first")
	require.NoError(t, err)
	require.True(t, kept)
	settle("second", time.Nanosecond)
	_, kept, err = s.Inspect(t.Context(), "first")
	require.NoError(t, err)
	require.False(t, kept)
}
