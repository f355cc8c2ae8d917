package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Config configures a [Store].
type Config struct {
	// DB is the database, which the caller opens and closes. For one whose writers exclude each other it should have
	// one connection.
	DB *sql.DB
	// Reads is used for what only reads. The default is DB.
	Reads *sql.DB
	// Dialect says which database it is.
	Dialect Dialect
	// Schema names the schema of the tables; the default is the schema that connections use. Prefix begins the names of
	// tables and indexes; the default is "weft_".
	Schema, Prefix string
	// AutoMigrate has New call [Store.Migrate].
	AutoMigrate bool
	// Retention sets the time for which runs are kept.
	Retention runs.Retention
	// SweepEvery is the interval at which expired runs are removed when others are settled, up to 100 of them. The default
	// is a minute; negative is never.
	SweepEvery time.Duration
	// Patience is for how long a call is tried when the database is busy or out of reach. The default is a minute.
	Patience time.Duration
	// AnswerIn limits the time that an attempt takes before it is given up and made again. The default is 0, for ever: a
	// network that loses an answer without an error needs one.
	AnswerIn time.Duration
	// Now replaces the clock of the database, for tests: an expression for microseconds since 1970.
	Now string
	// Announce is called after runs of a queue and an agent have become due, for example to wake other processes, which
	// then call [Store.WakeUp]. It must not block. Local waiters are woken without it.
	Announce func(runs.Due)
	// AnnounceStop is called after a request to stop a run was written, with the number of its row, so that the process that
	// holds the run hears of it at once and calls [Store.LookForStop]. It must not block. A run of this process hears of it
	// without.
	AnnounceStop func(row int64)
	// HearsStops reports whether what other processes announce arrives. While it does not, requests to stop the runs that
	// this process holds are looked for every storekit.StopPoll. The default is that nothing arrives.
	HearsStops func() bool
}

// Store is a runs.Store in an SQL database. It sees and writes the runs of one tenant.
type Store struct {
	*engine
	// name is the tenant, and tenant its key.
	name, tenant string
}

// engine is the part that the stores of all tenants of a database share.
type engine struct {
	db, reads *sql.DB
	dialect   Dialect
	writer    *writer
	retention runs.Retention
	patience  time.Duration
	answerIn  time.Duration
	announce  func(runs.Due)
	// announceStop tells other processes of a request to stop; nil if they look themselves.
	announceStop func(row int64)

	statements sync.Map // template → statement
	prepared   sync.Map // template → *sql.Stmt
	// passedOver are runs, by their numbers, whose rows cannot be read.
	passedOver storekit.PassedOver[int64]
	appends    group[*appending]
	renewals   group[*renewing]
	sleepers   sleepers
	sweepEvery time.Duration
	// swept is the time at which runs that have expired were looked for last, in nanoseconds since 1970.
	swept atomic.Int64
	// stops has the leases of this process look for requests to stop, by the numbers of the rows.
	stops *storekit.StopWatch[int64, *lease]
	// closed is closed by close, which may be called again.
	closed chan struct{}
	close  func()
}

var (
	_ runs.Store = (*Store)(nil)
	_ runs.Waker = (*Store)(nil)
)

// New makes a store of the tenant "". It fails if the tables are missing or of another version, unless it may migrate.
func New(ctx context.Context, conf Config) (*Store, error) {
	if conf.DB == nil {
		return nil, errors.New("sqlrun: Config.DB is missing")
	}
	if err := conf.Dialect.check(); err != nil {
		return nil, err
	}
	w, err := newWriter(conf.Dialect, conf.Schema, conf.Prefix, conf.Now)
	if err != nil {
		return nil, err
	}
	e := &engine{db: conf.DB, reads: conf.Reads, dialect: conf.Dialect, writer: w, retention: conf.Retention,
		patience: conf.Patience, answerIn: conf.AnswerIn, announce: conf.Announce,
		announceStop: conf.AnnounceStop, closed: make(chan struct{})}
	if e.sweepEvery = conf.SweepEvery; e.sweepEvery == 0 {
		e.sweepEvery = time.Minute
	}
	e.swept.Store(time.Now().UnixNano())
	e.stops = storekit.NewStopWatch[int64](e.lookForStops, conf.HearsStops)
	e.close = sync.OnceFunc(func() { close(e.closed) })
	if e.reads == nil {
		e.reads = e.db
	}
	if e.patience <= 0 {
		e.patience = time.Minute
	}
	s := &Store{engine: e}
	if conf.AutoMigrate {
		err = s.Migrate(ctx)
	} else {
		err = s.checkVersion(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Tenant returns a store of the same database that sees and writes only the runs of a tenant. Any bytes are a name.
func (s *Store) Tenant(name string) *Store {
	return &Store{engine: s.engine, name: name, tenant: encode(name)}
}

// Close releases the statements that the store has prepared, and ends who waits for events, with an error that matches
// runlog.ErrClosed. It is for the stores of all tenants. The database stays open.
func (s *Store) Close() error {
	s.close()
	s.stops.Close()
	var all error
	s.prepared.Range(func(key, stmt any) bool {
		s.prepared.Delete(key)
		all = errors.Join(all, stmt.(*sql.Stmt).Close())
		return true
	})
	return all
}

// sql writes a statement for the database, once.
func (e *engine) sql(template string) string {
	if s, ok := e.statements.Load(template); ok {
		return s.(string)
	}
	s := e.writer.write(template)
	e.statements.Store(template, s)
	return s
}

// EventRetention is for how long the events of a run stay after its end: see runs.Retention.
func (s *Store) EventRetention() time.Duration { return s.retention.ForEvents() }
