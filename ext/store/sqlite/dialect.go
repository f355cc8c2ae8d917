package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"time"

	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

// clock makes the time known to the connections that are opened afterwards, as weft_now(): SQLite's own is exact to a
// millisecond. It is the clock of the machine, which all processes have that share a file.
var clock = sync.OnceValue(func() error {
	return driversqlite.RegisterScalarFunction("weft_now", 0,
		func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return time.Now().UnixMicro(), nil
		})
})

// Dialect returns what SQLite does in its own way. Its transactions must begin with BEGIN IMMEDIATE
// (_txlock=immediate).
func Dialect() sqlrun.Dialect {
	return sqlrun.Dialect{
		Name:      "sqlite",
		Parameter: "?",
		Now:       "weft_now()",
		Text:      "TEXT", Int: "INTEGER", Blob: "BLOB",
		CreateTokens: []string{
			`CREATE TABLE {tokens} (last INTEGER NOT NULL)`,
			`INSERT INTO {tokens} (last) VALUES (0)`,
		},
		BumpToken: `UPDATE {tokens} SET last = last + 1`,
		Token:     `(SELECT last FROM {tokens})`,
		IndexedBy: "INDEXED BY",
		Explain:   "EXPLAIN QUERY PLAN",
		Retryable: isBusy,
		Full:      isFull,
		Exists:    func(err error) bool { return strings.Contains(err.Error(), "already exists") },
	}
}

// isFull reports whether the disk is full, or the file as long as it may become.
func isFull(err error) bool {
	var e *driversqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_FULL
}

// isBusy reports whether another process had the file for longer than the timeout.
func isBusy(err error) bool {
	var e *driversqlite.Error
	if errors.Is(err, context.Canceled) || !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return true
	}
	return false
}
