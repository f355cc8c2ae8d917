package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// lease is a run that is held.
type lease struct {
	*storekit.Lease
	store *Store
	no    int64
	// seen is the number of requests to stop that the row had counted at the last one that was delivered. It grows under
	// telling, which is held for no call; noting is held while the row is read, and taken before telling.
	seen            atomic.Int64
	noting, telling sync.Mutex

	// turn is full while a record is appended: one at a time, so that life says which of them are stored.
	turn chan struct{}
	// life is the number of records that the lease has appended, unless it is unsure: an append failed, and may have been
	// done. Both are owned by who has the turn.
	life   int64
	unsure bool
}

func (l *lease) Set(ctx context.Context, id string, checkPoint []byte) error {
	if err := l.Check("set", id, checkPoint); err != nil {
		return err
	}
	return l.write(ctx, "set", id, func(ctx context.Context, t *transaction, r *row) error {
		r.Renew(r.now)
		r.Run.Updated = r.now
		return t.set(ctx, r, checkpointValue, checkPoint)
	})
}

func (l *lease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, func(ctx context.Context, t *transaction, r *row) error {
		return t.unset(ctx, r, checkpointValue)
	})
}

func (l *lease) RemoveRecords(ctx context.Context, id string) error {
	return l.write(ctx, "remove the journal of", id, func(ctx context.Context, t *transaction, r *row) error {
		return t.dropRecords(ctx, r)
	})
}

// write changes the run while the lease counts.
func (l *lease) write(ctx context.Context, doing, id string,
	do func(ctx context.Context, t *transaction, r *row) error) error {
	if err := storekit.CheckID(l.ID(), id); err != nil {
		return err
	}
	return l.store.change(ctx, doing, id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockNo(ctx, l.no)
		if err != nil {
			return err
		}
		if r == nil || !r.Holds(l.Token()) {
			return l.Lost()
		}
		if err := do(ctx, t, r); err != nil {
			return err
		}
		l.noteStop(r)
		return t.save(ctx, r)
	})
}

// read reads the row of the run while the lease counts.
func (l *lease) read(ctx context.Context, doing string) (r *row, err error) {
	err = l.store.read(ctx, doing, l.ID(), func(ctx context.Context) (err error) {
		r, err = scanRow(l.store.db.QueryRowContext(ctx, l.store.sql(`SELECT {columns}, {now} FROM {runs} WHERE no = $1`), l.no))
		if errors.Is(err, sql.ErrNoRows) || err == nil && !r.Holds(l.Token()) {
			return l.Lost()
		}
		return err
	})
	return r, err
}

// Replies returns the replies that were given and are not used up.
func (l *lease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	const doing = "read the answers of"
	r, err := l.read(ctx, doing)
	if err != nil || r.has&answersValue == 0 {
		return nil, err
	}
	err = l.store.read(ctx, doing, l.ID(), func(ctx context.Context) error {
		var data []byte
		err := l.store.db.QueryRowContext(ctx, l.store.sql(`SELECT data FROM {vals} WHERE run = $1 AND kind = $2`), l.no,
			answersValue).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) { // another process settled or removed the run since
			return l.Lost()
		}
		if err == nil {
			data, err = checkValue(l.ID(), data, l.no, answersValue)
		}
		if err == nil {
			answers, err = decodeAnswers(data)
		}
		return err
	})
	return answers, err
}

// renewing is a lease that is to be renewed.
type renewing struct {
	lease *lease
	// stops came back with it, unless it is not renewed, because of err.
	stops int64
	err   error
}

// Renew makes the lease count for its TTL from now on. Leases that are renewed at the same time share a statement.
func (l *lease) Renew(ctx context.Context) error {
	const doing = "renew the lease of"
	if err := ctx.Err(); err != nil {
		return storekit.Failed(doing, l.ID(), err)
	}
	r := &renewing{lease: l}
	if err := l.store.renewals.do(ctx, r, l.store.renew); err != nil {
		return storekit.Failed(doing, l.ID(), err)
	}
	if r.err != nil {
		return storekit.FailedOnce(doing, l.ID(), r.err)
	}
	return l.noteStops(ctx, r.stops)
}

// noteStops delivers the last request to stop, if there is one that was not seen, and waits for who is about it.
func (l *lease) noteStops(ctx context.Context, stops int64) error {
	l.noting.Lock()
	defer l.noting.Unlock()
	if l.seen.Load() >= stops {
		return nil
	}
	r, err := l.read(ctx, "read the request to stop")
	if err == nil {
		l.noteStop(r)
	}
	return err
}

// noteStop delivers the request to stop of a row, unless that or a later one was delivered.
func (l *lease) noteStop(r *row) {
	if l.seen.Load() >= r.stops { // nearly always
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	if l.seen.Load() >= r.stops {
		return
	}
	l.seen.Store(r.stops)
	if r.Stopping != nil {
		l.Deliver(*r.Stopping)
	}
}

// renewedAtOnce is the number of leases that one statement renews.
const renewedAtOnce = 200

// renew renews leases, of any tenants of the database, and notes what became of each.
func (e *engine) renew(ctx context.Context, all []*renewing) {
	for some := range slices.Chunk(all, renewedAtOnce) {
		statement, args := e.renewal(some)
		var found map[uint64]int64
		err := e.retry(ctx, func(ctx context.Context, _ int) (err error) {
			found, err = e.renewed(ctx, statement, args)
			return err
		})
		for _, r := range some {
			stops, ok := found[r.lease.Token()]
			switch {
			case err != nil:
				r.err = err
			case !ok:
				r.err = r.lease.Lost()
			default:
				r.stops = stops
			}
		}
	}
}

// renewal is the statement that renews leases.
func (e *engine) renewal(all []*renewing) (statement string, args []any) {
	var values strings.Builder
	for i, r := range all {
		if i > 0 {
			values.WriteString(", ")
		}
		fmt.Fprintf(&values, "(CAST($%d AS {int}), CAST($%d AS {int}), CAST($%d AS {int}))", 3*i+1, 3*i+2, 3*i+3)
		args = append(args, r.lease.no, int64(r.lease.Token()), r.lease.TTL().Microseconds())
	}
	template := `WITH mine (no, token, ttl) AS (VALUES ` + values.String() + `)
		UPDATE {runs} SET lease_until = {now} + mine.ttl,
			due_at = CASE WHEN status = 'running' AND (due_at IS NULL OR due_at < {now} + mine.ttl / 2)
				THEN {now} + mine.ttl ELSE due_at END
		FROM mine WHERE {runs}.no = mine.no AND {runs}.token = mine.token AND {runs}.held = 1
		RETURNING {runs}.token, stops`
	if len(all) > 1 {
		return e.writer.write(template), args
	}
	return e.sql(template), args
}

// renewed runs it, and returns the requests to stop of those that were renewed, by their tokens.
func (e *engine) renewed(ctx context.Context, statement string, args []any) (map[uint64]int64, error) {
	rows, err := e.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[uint64]int64{}
	for rows.Next() {
		var token, stops int64
		if err := rows.Scan(&token, &stops); err != nil {
			return nil, err
		}
		found[uint64(token)] = stops
	}
	return found, rows.Err()
}
