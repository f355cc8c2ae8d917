package postgres

import (
	"database/sql"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun/sqlruntest"
	"github.com/weftgo/weft/runs"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), newDatabase(t, ofTest(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore_Conforms(t *testing.T) {
	ofTest(t)
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(t *testing.T) checkpoint.Store { return newStore(t) },
		Damage: func(t *testing.T, s checkpoint.Store, id string) {
			_, err := s.(*Store).db.Exec(`UPDATE weft_runs SET data = '{"v":99}' WHERE id = $1`, id)
			require.NoError(t, err)
		},
	})
}

func newPool(t testing.TB) *sql.DB {
	t.Helper()
	conf, err := pgx.ParseConfig(newDatabase(t, ofTest(t)))
	require.NoError(t, err)
	conf.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	db := stdlib.OpenDB(*conf)
	db.SetMaxOpenConns(16)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestDialect_Conforms(t *testing.T) {
	ofTest(t)
	sqlruntest.Run(t, func(t *testing.T) sqlrun.Config { return sqlrun.Config{DB: newPool(t), Dialect: Dialect()} })
}

// Rule distributed/B9.
func TestStore_CostsNoMoreTheMoreItKeeps(t *testing.T) {
	ofTest(t)
	sqlruntest.Scale(t, func(t *testing.T) sqlrun.Config { return sqlrun.Config{DB: newPool(t), Dialect: Dialect()} })
}

// TestNew_RefusesWhatCannotWork.
func TestNew_RefusesWhatCannotWork(t *testing.T) {
	_, err := Open(t.Context(), "")
	require.ErrorContains(t, err, "URL")
	_, err = Open(t.Context(), "postgres://127.0.0.1:x")
	require.ErrorContains(t, err, "postgres: Config.URL")
	_, err = New(t.Context(), Config{URL: newDatabase(t, ofTest(t)), NoMigrate: true})
	require.ErrorContains(t, err, "call Migrate")
	_, err = New(t.Context(), Config{URL: "postgres://postgres@127.0.0.1:1/none?sslmode=disable", Patience: 1})
	require.ErrorIs(t, err, sqlrun.ErrUnavailable)
}

// TestNew_UsesASchemaAndAPrefix of its own.
func TestNew_UsesASchemaAndAPrefix(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	conf := Config{URL: url, Schema: "agents", Prefix: "runs_"}
	require.NoError(t, Migrate(t.Context(), conf))
	conf.NoMigrate = true
	s, err := New(t.Context(), conf)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Submit(t.Context(), "id", runs.Spec{})
	require.NoError(t, err)
	var n int
	require.NoError(t, s.DB().QueryRow("SELECT COUNT(*) FROM agents.runs_runs").Scan(&n))
	require.Equal(t, 1, n)
}

// TestWake_WorkersOfOtherProcessesAreWoken by a notification.
// Rule distributed/B5.
func TestWake_WorkersOfOtherProcessesAreWoken(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	one, err := Open(t.Context(), url)
	require.NoError(t, err)
	defer one.Close()
	other, err := Open(t.Context(), url)
	require.NoError(t, err)
	defer other.Close()
	woken := other.Wake(t.Context(), runs.Due{Queues: []string{"q"}})
	for i := 0; ; i++ { // it may not listen yet
		_, err = one.Submit(t.Context(), string(rune('a'+i)), runs.Spec{Queue: "q"})
		require.NoError(t, err)
		select {
		case <-woken:
			return
		case <-time.After(500 * time.Millisecond):
			require.Less(t, i, 20, "nobody was woken")
		}
	}
}

func BenchmarkStore(b *testing.B) {
	ofTest(b)
	own, err := startServer(true) // one that waits for the disk
	require.NoError(b, err)
	defer os.RemoveAll(own.dir)
	defer func() { own.stop(syscall.SIGQUIT) }()
	sqlruntest.Bench(b, func(b *testing.B) (*sqlrun.Store, sqlrun.Config) {
		s, err := Open(b.Context(), newDatabase(b, own))
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, s.Close()) })
		return s.Store, sqlrun.Config{DB: s.db, Dialect: Dialect()}
	})
}

// Rule distributed/X3.
func TestStore_CanBeSealedAgain(t *testing.T) {
	ofTest(t)
	checkpointtest.Reseal(t, newStore(t))
}

// It reaches it also where the store cannot listen, as behind PgBouncer.
// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARun(t *testing.T) {
	ofTest(t)
	for name, deaf := range map[string]bool{"listening": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			url := newDatabase(t, ofTest(t))
			open := func() *Store {
				s, err := New(t.Context(), Config{URL: url, NoListen: deaf})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				return s
			}
			checkpointtest.Stops(t, open(), open())
		})
	}
}
