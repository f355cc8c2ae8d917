package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// Config configures a [Store].
type Config struct {
	// Path is the file, which is made if it is not there. Its folder must exist, on a disk of this machine.
	Path string
	// Prefix begins the names of tables; the default is "weft_".
	Prefix string
	// NoMigrate has New refuse a file without tables, or with tables of an older release, instead of changing it. Then
	// [Migrate] does that.
	NoMigrate bool
	// Retention is the time for which runs are kept.
	Retention runs.Retention
	// BusyTimeout is the time for which a call waits for another process that writes. The default is 10 seconds. A call
	// that had to wait longer is tried again, for Patience in all, the default of which is a minute; then its error matches
	// sqlrun.ErrUnavailable.
	BusyTimeout, Patience time.Duration
	// Now replaces the clock, for tests: an SQL expression for microseconds since 1970.
	Now string
}

// Store is a runs.Store in an SQLite file. Use New or Open.
//
// What it offers beside that is documented at sqlrun.Store, among it:
//
//   - OpenEvents: a store of events (adk/runlog) in the same database
//   - Tenant: the store of one tenant
//   - SubmitTx: submits a run in a transaction of the application
//   - Sweep: removes runs that have expired
type Store struct {
	*sqlrun.Store
	writes, reads *sql.DB
}

var _ runs.Store = (*Store)(nil)

// Open opens a file with the defaults.
func Open(ctx context.Context, path string) (*Store, error) { return New(ctx, Config{Path: path}) }

// New opens a file. It writes through one connection and reads through several.
func New(ctx context.Context, conf Config) (*Store, error) {
	if conf.Path == "" {
		return nil, errors.New("sqlite: Config.Path is missing")
	}
	if conf.BusyTimeout <= 0 {
		conf.BusyTimeout = 10 * time.Second
	}
	if err := onThisMachine(filepath.Dir(conf.Path)); err != nil {
		return nil, err
	}
	if err := clock(); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s := &Store{}
	var err error
	if s.writes, err = open(conf, 1, ""); err != nil {
		return nil, err
	}
	if s.reads, err = open(conf, max(4, runtime.GOMAXPROCS(0)), "&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, s.writes.Close())
	}
	if err := useWAL(ctx, s.writes); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Store, err = sqlrun.New(ctx, sqlrun.Config{DB: s.writes, Reads: s.reads, Dialect: Dialect(), Prefix: conf.Prefix,
		AutoMigrate: !conf.NoMigrate, Retention: conf.Retention, Patience: conf.Patience,
		Now: conf.Now})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: %q: %w", conf.Path, err), s.Close())
	}
	return s, nil
}

// Migrate makes the tables in a file, or brings tables of an older release up to date.
func Migrate(ctx context.Context, conf Config) error {
	conf.NoMigrate = false
	s, err := New(ctx, conf)
	if err != nil {
		return err
	}
	return s.Close()
}

// open opens connections to the file. Each is configured by its URL: database/sql opens them when it likes.
func open(conf Config, connections int, more string) (*sql.DB, error) {
	dsn, err := source(conf, more)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %q: %w", conf.Path, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// source is the URL of connections to the file.
func source(conf Config, more string) (string, error) {
	path, err := filepath.Abs(conf.Path)
	if err != nil {
		return "", err
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return fmt.Sprintf("%s?_pragma=busy_timeout(%d)&_pragma=synchronous(FULL)&_txlock=immediate%s", file.String(),
		conf.BusyTimeout.Milliseconds(), more), nil
}

// useWAL has the file keep its log beside it. SQLite does not wait for other processes that do that at the same time.
func useWAL(ctx context.Context, db *sql.DB) error {
	for began := time.Now(); ; {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("sqlite: the file cannot have a write-ahead log (its mode is %q): use a local disk", mode)
		case !isBusy(err) || time.Since(began) > time.Minute:
			return fmt.Errorf("sqlite: %w", err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// onThisMachine refuses a folder on a network, where the operating system says so.
func onThisMachine(folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("sqlite: the folder of the file: %w", err)
	}
	if kind := networkOf(folder); kind != "" {
		return fmt.Errorf("sqlite: %q is on a network (%s): use a local disk, or a store on a server", folder, kind)
	}
	return nil
}

// DB returns the database through which the store writes: one connection, so that everything else waits while a
// transaction of it is open. It is for [sqlrun.Store.SubmitTx], and closed with the store.
func (s *Store) DB() *sql.DB { return s.writes }

// Close closes the file. Calls under way fail.
func (s *Store) Close() error {
	var err error
	if s.Store != nil {
		err = s.Store.Close()
	}
	return errors.Join(err, s.writes.Close(), s.reads.Close())
}
