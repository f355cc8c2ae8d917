package sqlrun

import (
	"context"
	"errors"
	"time"

	"github.com/weftgo/weft/runs"
)

// sweptAtOnce is the number of runs that are removed in one transaction.
const sweptAtOnce = 100

// Remove removes everything of a run.
func (s *Store) Remove(ctx context.Context, id string, force bool) error {
	return s.change(ctx, "remove", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lock(ctx, id)
		var bad *unreadable
		if errors.As(err, &bad) { // what is to be removed need not be read
			r, err = bad.row, nil
		}
		if r == nil || err != nil {
			return err
		}
		if r.Held(r.now) && !force {
			return r.Busy()
		}
		return t.remove(ctx, r)
	})
}

// Sweep removes runs of the tenant that have expired.
func (s *Store) Sweep(ctx context.Context, limit int) (swept runs.Swept, err error) {
	if any, err := s.hasExpired(ctx); err != nil || !any {
		return swept, err
	}
	for swept.Runs < limit {
		n := min(limit-swept.Runs, sweptAtOnce)
		removed, more, err := s.sweep(ctx, n)
		swept.Runs += removed
		swept.More = more
		if err != nil || !more {
			return swept, err
		}
	}
	return swept, nil
}

// sweep removes up to n runs in one transaction, and says whether there are more.
func (s *Store) sweep(ctx context.Context, n int) (removed int, more bool, err error) {
	err = s.change(ctx, "sweep", "", func(ctx context.Context, t *transaction) error {
		expired, err := t.expired(ctx, n+1)
		if err != nil {
			return err
		}
		more = len(expired) > n
		removed = min(len(expired), n)
		for _, r := range expired[:removed] {
			if err := t.remove(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, more, err
}

// isExpired is the condition for a run that a sweep removes.
const isExpired = `tenant = $1 AND expires_at IS NOT NULL AND expires_at < {at} AND (held = 0 OR lease_until <= {at})`

// anyExpired counts one run that a sweep removes, if there is one. The order has the database take the index: with what it knows
// of the times it may think that the first rows of the table will do.
const anyExpired = `SELECT COUNT(*) FROM (SELECT 1 FROM {runs} {by_runs_expires} WHERE ` + isExpired +
	` ORDER BY expires_at LIMIT 1) AS one`

// hasExpired looks, without a transaction, if there is something to sweep.
func (s *Store) hasExpired(ctx context.Context) (any bool, err error) {
	err = s.read(ctx, "sweep", "", func(ctx context.Context) error {
		var n int
		err := s.reads.QueryRowContext(ctx, s.sql(anyExpired), s.tenant).Scan(&n)
		any = n > 0
		return err
	})
	return any, err
}

// expired locks up to n runs that have expired and that no process holds.
func (t *transaction) expired(ctx context.Context, n int) (expired []*row, err error) {
	rows, err := t.tx.QueryContext(ctx, t.sql(`SELECT {columns}, {now} FROM {runs} {by_runs_expires} WHERE `+isExpired+`
		ORDER BY expires_at LIMIT $2{skip_locked}`), t.tenant, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		var bad *unreadable
		if errors.As(err, &bad) {
			r, err = bad.row, nil
		}
		if err != nil {
			return nil, err
		}
		expired = append(expired, r)
	}
	return expired, rows.Err()
}

// sweptThen is the number of expired runs that are removed when another run is settled.
const sweptThen = 100

// sweepNow removes runs that have expired, now and then, when another one is settled: programs without workers have nothing
// else that does. It makes no promise: what it cannot remove, it leaves.
func (s *Store) sweepNow(ctx context.Context) {
	last, now := s.swept.Load(), time.Now().UnixNano()
	if s.sweepEvery > 0 && time.Duration(now-last) > s.sweepEvery && s.swept.CompareAndSwap(last, now) {
		_, _ = s.Sweep(ctx, sweptThen)
	}
}
