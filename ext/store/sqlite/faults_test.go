package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun/sqlruntest"
)

// connector opens connections of a data source.
type connector struct {
	driver driver.Driver
	source string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.source) }

func (c connector) Driver() driver.Driver { return c.driver }

// TestStore_IsWholeWhateverStatementFails.
// Rule distributed/K2.
func TestStore_IsWholeWhateverStatementFails(t *testing.T) {
	sqlruntest.Faults(t, nil, func(t *testing.T, disturb func(driver.Connector) *sql.DB) sqlrun.Config {
		conf := Config{Path: filepath.Join(t.TempDir(), "runs.db"), BusyTimeout: time.Second}
		s, err := New(t.Context(), conf)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		dsn, err := source(conf, "")
		require.NoError(t, err)
		db := disturb(connector{s.writes.Driver(), dsn})
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return sqlrun.Config{DB: db, Reads: s.reads, Dialect: Dialect()}
	})
}

// TestStore_RunsContinueWhenThereIsRoom: the file has as many pages as it may have.
// Rule distributed/K2.
func TestStore_RunsContinueWhenThereIsRoom(t *testing.T) {
	s := newStore(t)
	adktest.OutOfRoom(t, s, func(full bool) { s.Fill(t, full) })
}
