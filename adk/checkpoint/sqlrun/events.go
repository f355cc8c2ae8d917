package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// EventsConfig configures [Store.OpenEvents]. The zero value works.
type EventsConfig struct {
	// Poll is the interval at which the database is asked for events of other processes while a reader waits for some. The
	// default is 50 ms.
	Poll time.Duration
	// Announce is called with a key after events of a run were added, for example to have other processes call
	// [Events.WakeUp] with it. It must not block.
	Announce func(key string)
}

// Events is a runlog.Store in the database of a store, for one tenant. A process needs one: readers hear at once of
// what is written through it, and of what other processes write after a poll. Deltas are removed when what they are
// pieces of has ended, so that what is kept of a run grows with its messages.
//
// It has one goroutine while readers wait for events, however many wait, and asks the database one question for a hundred
// runs that are waited for.
type Events struct {
	store *Store
	conf  EventsConfig
	keys  storekit.Waiters

	mu      sync.Mutex // guards the fields below
	waiting int
	// polling: the goroutine runs that polls.
	polling bool
}

var _ runlog.Store = (*Events)(nil)

// deltaKind is the kind of events that are removed when their span has ended.
const deltaKind = "delta"

// OpenEvents opens the events of runs. Their tables are among the tables of the store: see [Store.Migrate]. It does not
// fail.
func (s *Store) OpenEvents(_ context.Context, conf EventsConfig) (*Events, error) {
	if conf.Poll <= 0 {
		conf.Poll = 50 * time.Millisecond
	}
	return &Events{store: s, conf: conf}, nil
}

// Append adds events.
func (e *Events) Append(ctx context.Context, run string, events []runlog.Event) error {
	if len(events) == 0 {
		return ctx.Err()
	}
	key := encode(run)
	err := e.store.change(ctx, "add events to", run, func(ctx context.Context, t *transaction) error {
		if err := t.takeLog(ctx, key, int64(events[0].Token), int64(events[len(events)-1].Token)); err != nil {
			return err
		}
		last, err := t.lastEvent(ctx, key)
		if err != nil {
			return err
		}
		return t.addEvents(ctx, key, events, last)
	})
	if err != nil {
		return err
	}
	e.WakeUp(key)
	if e.conf.Announce != nil {
		e.conf.Announce(key)
	}
	return nil
}

// takeLog locks the events of a run until the transaction ends, for events whose tokens are between two. If events of a life
// later than the first were added it returns [runlog.ErrOvertaken].
func (t *transaction) takeLog(ctx context.Context, key string, first, latest int64) error {
	for {
		var last int64
		err := t.one(ctx, `SELECT token FROM {logs} WHERE tenant = $1 AND run = $2{for_update}`, t.tenant, key).Scan(&last)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = t.exec(ctx, `INSERT INTO {logs} (tenant, run, token) VALUES ($1, $2, $3)
				ON CONFLICT (tenant, run) DO NOTHING`, t.tenant, key, first)
			if err != nil {
				return err
			}
			continue // another process may have made it
		case err != nil:
			return err
		case last > first:
			return runlog.ErrOvertaken
		case last >= latest:
			return nil
		}
		_, err = t.exec(ctx, `UPDATE {logs} SET token = $3 WHERE tenant = $1 AND run = $2`, t.tenant, key, latest)
		return err
	}
}

// lastEvent is the position of the last event of a run.
func (t *transaction) lastEvent(ctx context.Context, key string) (last runs.Cursor, err error) {
	return scanCursor(t.one(ctx, lastEvent, t.tenant, key))
}

const lastEvent = `SELECT token, seq FROM {events} WHERE tenant = $1 AND run = $2 ORDER BY token DESC, seq DESC LIMIT 1`

func scanCursor(row *sql.Row) (at runs.Cursor, err error) {
	var token, seq int64
	err = row.Scan(&token, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return runs.Cursor{Token: uint64(token), Seq: uint64(seq)}, err
}

// addEvents inserts what is behind last, and removes the deltas of what ends.
func (t *transaction) addEvents(ctx context.Context, key string, events []runlog.Event, last runs.Cursor) error {
	ended := map[runlog.SpanID]bool{}
	for i := range events {
		if e := &events[i]; e.Type == runlog.ModelEnd || e.Type == runlog.ToolEnd {
			ended[e.Span] = true
		}
	}
	for i := range events {
		e := &events[i]
		kind := string(e.Type)
		if e.Type.IsDelta() {
			kind = deltaKind
		}
		if e.Cursor().Compare(last) <= 0 || kind == deltaKind && ended[e.Span] {
			continue
		}
		data, err := e.AppendStored(nil)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO {events} (tenant, run, token, seq, kind, span, at, data)
			VALUES ($1, $2, $3, $4, $5, $6, {now}, $7) ON CONFLICT (tenant, run, token, seq) DO NOTHING`,
			t.tenant, key, int64(e.Token), int64(e.Seq), kind, int64(e.Span), data); err != nil {
			return err
		}
	}
	for span := range ended {
		_, err := t.exec(ctx, `DELETE FROM {events} WHERE tenant = $1 AND run = $2 AND kind = $3 AND span = $4`,
			t.tenant, key, deltaKind, int64(span))
		if err != nil {
			return err
		}
	}
	return nil
}

// eventPage is the number of events that are read at a time.
const eventPage = 256

// Read yields events.
func (e *Events) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		for {
			page, err := e.page(ctx, run, after)
			if err != nil {
				yield(runlog.Event{}, storekit.Failed("read the events of", run, err))
				return
			}
			for _, event := range page {
				if !yield(event, nil) {
					return
				}
				after = event.Cursor()
			}
			if len(page) < eventPage {
				return
			}
		}
	}
}

func (e *Events) page(ctx context.Context, run string, after runs.Cursor) (page []runlog.Event, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := e.store
	err = s.retry(ctx, func(ctx context.Context, _ int) error {
		page = page[:0]
		rows, err := s.reads.QueryContext(ctx, s.sql(`SELECT token, seq, data FROM {events} WHERE tenant = $1 AND run = $2
			AND (token > $3 OR token = $3 AND seq > $4) ORDER BY token, seq LIMIT `+fmt.Sprint(eventPage)),
			s.tenant, encode(run), bounded(after.Token), bounded(after.Seq))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var token, seq int64
			var data []byte
			if err := rows.Scan(&token, &seq, &data); err != nil {
				return err
			}
			event, err := runlog.DecodeStored(data, run)
			if err != nil {
				return err
			}
			if is := event.Cursor(); int64(is.Token) != token || int64(is.Seq) != seq {
				return fmt.Errorf("%w: event %v is at another place", runlog.ErrDamaged, is)
			}
			page = append(page, event)
		}
		return rows.Err()
	})
	return page, err
}

// bounded is a number of a cursor, which may be anything, for a database.
func bounded(n uint64) int64 { return int64(min(n, 1<<63-1)) }

// Wait blocks until there may be an event behind the cursor.
func (e *Events) Wait(ctx context.Context, run string, after runs.Cursor) error {
	key := encode(run)
	changed, leave := e.keys.Watch(key)
	defer leave()
	e.enter()
	defer e.leave()
	last, err := e.last(ctx, key)
	if err != nil {
		return storekit.Failed("wait for events of", run, err)
	}
	if last.Compare(after) > 0 {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.store.closed:
		return storekit.Failed("wait for events of", run, runlog.ErrClosed)
	}
}

func (e *Events) last(ctx context.Context, key string) (last runs.Cursor, err error) {
	s := e.store
	err = s.retry(ctx, func(ctx context.Context, _ int) (err error) {
		last, err = scanCursor(s.reads.QueryRowContext(ctx, s.sql(lastEvent), s.tenant, key))
		return err
	})
	return last, err
}

// enter and leave count the waiting readers. The first one starts the goroutine that polls, which ends when no reader waits,
// or with the store.
func (e *Events) enter() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting++
	if !e.polling {
		e.polling = true
		go e.poll()
	}
}

func (e *Events) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting--
}

// poll looks for events of other processes of the runs that readers wait for.
func (e *Events) poll() {
	seen := map[string]runs.Cursor{}
	for e.pause() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		looked := map[string]runs.Cursor{}
		for keys := range slices.Chunk(e.keys.Watched(), polledAtOnce) {
			last, err := e.lastOfAll(ctx, keys)
			if err != nil {
				continue // the readers ask themselves and are given the error
			}
			for _, key := range keys {
				looked[key] = last[key]
				if before, known := seen[key]; !known || before != last[key] {
					e.keys.Wake(key)
				}
			}
		}
		cancel()
		seen = looked
	}
}

// pause waits until it is time to look again, and reports whether a reader waits then.
func (e *Events) pause() bool {
	open := true
	select {
	case <-time.After(e.conf.Poll):
	case <-e.store.closed:
		open = false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.polling = open && e.waiting > 0
	return e.polling
}

// polledAtOnce is of how many runs the database is asked in one statement.
const polledAtOnce = 100

// lastOfAll is last for several runs. Those without events are not in the map.
func (e *Events) lastOfAll(ctx context.Context, keys []string) (last map[string]runs.Cursor, err error) {
	s := e.store
	var statement strings.Builder
	args := []any{s.tenant}
	for i, key := range keys {
		if i > 0 {
			statement.WriteString(" UNION ALL ")
		}
		args = append(args, key)
		fmt.Fprintf(&statement, `SELECT * FROM (SELECT run, token, seq FROM {events} WHERE tenant = $1 AND run = $%d
			ORDER BY token DESC, seq DESC LIMIT 1) AS l%d`, len(args), i)
	}
	err = s.retry(ctx, func(ctx context.Context, _ int) error {
		last = map[string]runs.Cursor{}
		rows, err := s.reads.QueryContext(ctx, s.sql(statement.String()), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key string
			var token, seq int64
			if err := rows.Scan(&key, &token, &seq); err != nil {
				return err
			}
			last[key] = runs.Cursor{Token: uint64(token), Seq: uint64(seq)}
		}
		return rows.Err()
	})
	return last, err
}

// WakeUp wakes those in this process who wait for events of a run: its key is that which Announce was given.
func (e *Events) WakeUp(key string) { e.keys.Wake(key) }

// Inspect returns what there is of a run.
func (e *Events) Inspect(ctx context.Context, run string) (info runlog.Info, exists bool, err error) {
	s := e.store
	if err := ctx.Err(); err != nil {
		return info, false, err
	}
	err = s.retry(ctx, func(ctx context.Context, _ int) error {
		row := s.reads.QueryRowContext(ctx, s.sql(eventInfo+` WHERE o.tenant = $1 AND o.run = $2
			ORDER BY o.token DESC, o.seq DESC LIMIT 1`), s.tenant, encode(run))
		var err error
		if info, err = scanInfo(row.Scan); errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		exists = err == nil
		return err
	})
	info.Run = run
	return info, exists, storekit.Failed("inspect the events of", run, err)
}

// eventInfo reads what there is of a run from its last event, a row of o.
const eventInfo = `SELECT o.run, o.token, o.seq, o.at, o.data,
	(SELECT token FROM {events} f WHERE f.tenant = o.tenant AND f.run = o.run ORDER BY token, seq LIMIT 1),
	(SELECT seq FROM {events} f WHERE f.tenant = o.tenant AND f.run = o.run ORDER BY token, seq LIMIT 1)
	FROM {events} o`

func scanInfo(scan func(...any) error) (info runlog.Info, err error) {
	var key string
	var data []byte
	var token, seq, firstToken, firstSeq, at int64
	if err := scan(&key, &token, &seq, &at, &data, &firstToken, &firstSeq); err != nil {
		return info, err
	}
	last, err := runlog.DecodeStored(data, "")
	if err != nil {
		last.Run, _ = decode(key)
	}
	info = runlog.Info{Run: last.Run, Updated: time.UnixMicro(at),
		First: runs.Cursor{Token: uint64(firstToken), Seq: uint64(firstSeq)},
		Last:  runs.Cursor{Token: uint64(token), Seq: uint64(seq)}}
	if end, ok := last.Data.(*runlog.RunEndData); ok {
		info.End = end.Status
	}
	return info, err
}

// List yields runs.
func (e *Events) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
	return func(yield func(runlog.Info, error) bool) {
		infos, err := e.list(ctx)
		if err != nil {
			yield(runlog.Info{}, fmt.Errorf("list the runs with events: %w", err))
			return
		}
		q.Of(ctx, infos)(yield)
	}
}

// list reads all runs. There are as many as the retention of events leaves.
func (e *Events) list(ctx context.Context) (infos []runlog.Info, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := e.store
	err = s.retry(ctx, func(ctx context.Context, _ int) error {
		infos = infos[:0]
		rows, err := s.reads.QueryContext(ctx, s.sql(eventInfo+` WHERE o.tenant = $1 AND NOT EXISTS (
			SELECT 1 FROM {events} n WHERE n.tenant = o.tenant AND n.run = o.run
			AND (n.token > o.token OR n.token = o.token AND n.seq > o.seq))`), s.tenant)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			info, err := scanInfo(rows.Scan)
			if err != nil && !errors.Is(err, runlog.ErrDamaged) { // of a run that is damaged the end alone is not known
				return err
			}
			infos = append(infos, info)
		}
		return rows.Err()
	})
	return infos, err
}

// Delete removes the events of a run.
func (e *Events) Delete(ctx context.Context, run string) error {
	return e.store.change(ctx, "delete the events of", run, func(ctx context.Context, t *transaction) error {
		for _, from := range []string{"{events}", "{logs}"} {
			_, err := t.exec(ctx, `DELETE FROM `+from+` WHERE tenant = $1 AND run = $2`, t.tenant, encode(run))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
