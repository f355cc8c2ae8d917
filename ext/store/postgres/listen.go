package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// listener wakes the workers of this process when another one says that runs are due, and says so to others. It is a
// service: whatever it misses, workers find in a poll. It has two goroutines, until it is stopped.
type listener struct {
	conf    *pgx.ConnConfig
	channel string
	db      *sql.DB
	logger  *slog.Logger
	// out has the notices that wake other processes. What does not fit is dropped.
	out chan notice
	// events are woken for events of runs, nil until they are opened.
	events atomic.Pointer[sqlrun.Events]
	// listening is true while the connection that listens is there.
	listening atomic.Bool
	ctx       context.Context
	cancel    context.CancelFunc
	ends      sync.WaitGroup
}

// channelOf is the name of the channel of the tables that a store uses.
func channelOf(conf Config) string {
	prefix := conf.Prefix
	if prefix == "" {
		prefix = "weft_"
	}
	return conf.Schema + "." + prefix + "due"
}

func newListener(conf *pgx.ConnConfig, channel string, db *sql.DB, logger *slog.Logger) *listener {
	l := &listener{conf: conf, channel: channel, db: db, logger: logger, out: make(chan notice, 256)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *listener) start(store *sqlrun.Store) {
	l.ends.Go(func() { l.notifyOthers() })
	l.ends.Go(func() { l.listen(store) })
}

// stop ends the goroutines and waits for them.
func (l *listener) stop() {
	l.cancel()
	l.ends.Wait()
}

// notice is a message between processes: runs that are due or, if Run is set, events of a run, by its key, or, if Stop is
// set, a request to stop the run in that row.
type notice struct {
	runs.Due
	Run  string `json:",omitempty"`
	Stop int64  `json:",omitempty"`
}

// announce has other processes woken. It does not block.
func (l *listener) announce(due runs.Due) { l.send(notice{Due: due}) }

// announceEvents has the readers of a run in other processes woken. It does not block.
func (l *listener) announceEvents(key string) { l.send(notice{Run: key}) }

// announceStop has the process that holds a run look for a request to stop it. It does not block.
func (l *listener) announceStop(row int64) { l.send(notice{Stop: row}) }

// hears reports whether what others announce arrives.
func (l *listener) hears() bool { return l.listening.Load() }

func (l *listener) send(n notice) {
	select {
	case l.out <- n:
	default:
	}
}

// notifyOthers sends what is announced.
func (l *listener) notifyOthers() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case n := <-l.out:
			payload, err := json.Marshal(n)
			if err != nil || len(payload) > 7000 { // PostgreSQL takes less than 8000 bytes
				payload = []byte("{}")
			}
			ctx, cancel := context.WithTimeout(l.ctx, 5*time.Second)
			_, _ = l.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", l.channel, string(payload))
			cancel()
		}
	}
}

// listen passes on what others announce. When the connection breaks, it makes another one.
func (l *listener) listen(store *sqlrun.Store) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		begun := time.Now()
		err := l.listenOnce(store)
		if l.ctx.Err() != nil {
			return
		}
		if l.logger != nil {
			l.logger.WarnContext(l.ctx, "the connection that listens for runs broke; workers look for them in a poll", "error", err)
		}
		if time.Since(begun) > time.Minute {
			pause = time.Second
		}
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (l *listener) listenOnce(store *sqlrun.Store) error {
	conn, err := pgx.ConnectConfig(l.ctx, l.conf.Copy())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(l.ctx, "LISTEN "+pgx.Identifier{l.channel}.Sanitize()); err != nil {
		return err
	}
	l.listening.Store(true)
	defer l.listening.Store(false)
	for {
		n, err := conn.WaitForNotification(l.ctx)
		if err != nil {
			return err
		}
		var said notice
		if json.Unmarshal([]byte(n.Payload), &said) != nil {
			said = notice{}
		}
		switch {
		case said.Stop != 0:
			store.LookForStop(l.ctx, said.Stop)
		case said.Run == "":
			store.WakeUp(said.Due)
		default:
			if events := l.events.Load(); events != nil {
				events.WakeUp(said.Run)
			}
		}
	}
}
