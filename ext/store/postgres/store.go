package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// Config configures a [Store].
type Config struct {
	// URL says where the database is, as libpq writes it: "postgres://user:password@host:5432/name", or "host=… dbname=…".
	// What it lacks is taken from the variables of the environment that libpq knows.
	URL string
	// Schema is the place where the tables are; the default is the first of the search path. Prefix begins their names; the
	// default is "weft_".
	Schema, Prefix string
	// NoMigrate has New refuse a database without tables, or with tables of an older release, instead of changing it.
	// Then [Migrate] does that.
	NoMigrate bool
	// MaxConns is the number of connections that there are at most, in addition to the one that listens. The default is
	// 16.
	MaxConns int
	// ListenURL is the place where the connection that listens is made, which must not go through PgBouncer in transaction
	// mode. The default is URL.
	ListenURL string
	// NoListen keeps workers of other processes from waking this process's: they look once in a poll. It saves a
	// connection.
	NoListen bool
	// Retention is the time for which runs are kept.
	Retention runs.Retention
	// AnswerIn limits the time that an attempt takes before it is given up and made again, for networks that lose answers.
	// The default is 20 seconds. Patience is for how long a call is tried; the default is a minute.
	AnswerIn, Patience time.Duration
	// Logger gets, at level Warn, that the connection that listens broke. The default is nil.
	Logger *slog.Logger
}

// Store is a runs.Store in a PostgreSQL database. Use New or Open.
//
// What it offers beside that is documented at sqlrun.Store, among it:
//
//   - OpenEvents: a store of events (adk/runlog) in the same database
//   - Tenant: the store of one tenant
//   - SubmitTx: submits a run in a transaction of the application
//   - Sweep: removes runs that have expired
type Store struct {
	*sqlrun.Store
	db     *sql.DB
	listen *listener
}

var _ runs.Store = (*Store)(nil)

// Open connects to a database with the defaults.
func Open(ctx context.Context, url string) (*Store, error) { return New(ctx, Config{URL: url}) }

// New connects to a database. It fails if the database cannot be reached, or its tables are missing or of another
// release and NoMigrate is set.
func New(ctx context.Context, conf Config) (*Store, error) {
	if conf.URL == "" {
		return nil, errors.New("postgres: Config.URL is missing")
	}
	if conf.MaxConns <= 0 {
		conf.MaxConns = 16
	}
	if conf.AnswerIn == 0 {
		conf.AnswerIn = 20 * time.Second
	}
	pg, err := pgx.ParseConfig(conf.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: Config.URL: %w", err)
	}
	// Statements without a name live for one call: PgBouncer may give the next one another connection.
	pg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	s := &Store{db: stdlib.OpenDB(*pg)}
	s.db.SetMaxOpenConns(conf.MaxConns)
	s.db.SetMaxIdleConns(conf.MaxConns)
	run := sqlrun.Config{DB: s.db, Dialect: Dialect(), Schema: conf.Schema, Prefix: conf.Prefix, AutoMigrate: !conf.NoMigrate,
		Retention: conf.Retention, Patience: conf.Patience, AnswerIn: conf.AnswerIn}
	if !conf.NoListen {
		listenAt := pg
		if conf.ListenURL != "" {
			if listenAt, err = pgx.ParseConfig(conf.ListenURL); err != nil {
				return nil, errors.Join(fmt.Errorf("postgres: Config.ListenURL: %w", err), s.db.Close())
			}
		}
		s.listen = newListener(listenAt, channelOf(conf), s.db, conf.Logger)
		run.Announce, run.AnnounceStop, run.HearsStops = s.listen.announce, s.listen.announceStop, s.listen.hears
	}
	if s.Store, err = sqlrun.New(ctx, run); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %w", err), s.db.Close())
	}
	if s.listen != nil {
		s.listen.start(s.Store)
	}
	return s, nil
}

// Migrate makes the tables in a database, or brings tables of an older release up to date.
func Migrate(ctx context.Context, conf Config) error {
	conf.NoMigrate, conf.NoListen = false, true
	s, err := New(ctx, conf)
	if err != nil {
		return err
	}
	return s.Close()
}

// OpenEvents opens the events of runs in the database, for [runlog.Config]. A process needs them once: readers hear of
// events of other processes through the connection that listens, and without it after a poll of 50 ms.
func (s *Store) OpenEvents(ctx context.Context) (*sqlrun.Events, error) {
	var conf sqlrun.EventsConfig
	if s.listen != nil {
		conf.Poll, conf.Announce = time.Second, s.listen.announceEvents
	}
	events, err := s.Store.OpenEvents(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if s.listen != nil {
		s.listen.events.Store(events)
	}
	return events, nil
}

// DB returns the connections of the store. They are for [sqlrun.Store.SubmitTx], and closed with the store.
func (s *Store) DB() *sql.DB { return s.db }

// Close closes the connections. Calls under way fail.
func (s *Store) Close() error {
	if s.listen != nil {
		s.listen.stop()
	}
	return errors.Join(s.Store.Close(), s.db.Close())
}
