package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

// listener wakes the workers of this process when another one says that runs are due, and says so to others. It is a
// service: whatever it misses, workers find in a poll. It has two goroutines, until it is stopped.
type listener struct {
	conf    *pgx.ConnConfig
	channel string
	db      *sql.DB
	logger  *slog.Logger
	// due is what others are to be woken for. What does not fit is dropped.
	due    chan checkpoint.Due
	ctx    context.Context
	cancel context.CancelFunc
	ends   sync.WaitGroup
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
	l := &listener{conf: conf, channel: channel, db: db, logger: logger, due: make(chan checkpoint.Due, 64)}
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

// announce has other processes woken. It does not block.
func (l *listener) announce(due checkpoint.Due) {
	select {
	case l.due <- due:
	default:
	}
}

// notifyOthers sends what is announced.
func (l *listener) notifyOthers() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case due := <-l.due:
			payload, err := json.Marshal(due)
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
	for {
		n, err := conn.WaitForNotification(l.ctx)
		if err != nil {
			return err
		}
		var due checkpoint.Due
		if json.Unmarshal([]byte(n.Payload), &due) != nil {
			due = checkpoint.Due{}
		}
		store.WakeUp(due)
	}
}
