package postgres

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

// Dialect returns what PostgreSQL does in its own way. Transactions are READ COMMITTED.
func Dialect() sqlrun.Dialect {
	return sqlrun.Dialect{
		Name:         "postgres",
		Parameter:    "$",
		Now:          "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		Text:         `TEXT COLLATE "C"`,
		Int:          "BIGINT",
		Blob:         "BYTEA",
		RunOptions:   " WITH (fillfactor = 70)",
		CreateTokens: []string{`CREATE SEQUENCE {tokens}`},
		Token:        `nextval('{tokens}')`,
		ForUpdate:    " FOR UPDATE",
		SkipLocked:   " FOR UPDATE SKIP LOCKED",
		Explain:      "EXPLAIN",
		LockSchema:   `LOCK TABLE {schema} IN EXCLUSIVE MODE`,
		Retryable:    isPassing,
		Full:         isFull,
		Exists:       exists,
	}
}

// isPassing reports whether an error is gone when the transaction is tried again: the server had to choose between
// transactions, is starting or stopping, has no connection left, or the connection broke. The codes are in appendix A
// of PostgreSQL's documentation.
func isPassing(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "40001", "40P01", "55P03", // serialization failure, deadlock, lock not available
			"53300", "57P01", "57P02", "57P03", "57P05", // too many connections, shutdown, crash, starting, idle session
			"25P03": // idle in transaction
			return true
		}
		return strings.HasPrefix(e.Code, "08") // connection exceptions
	}
	var refused *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &refused) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// isFull reports whether the disk of the server is full.
func isFull(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "53100"
}

// exists reports whether an error says that a row, a table or a schema exists.
func exists(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "23505", "42P07", "42P06", "42710": // unique violation, duplicate table, schema, object
		return true
	}
	return false
}
