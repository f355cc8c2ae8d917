package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Acquire takes a run.
func (s *Store) Acquire(ctx context.Context, id string, req checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	nonce := rand.Int64()
	var l *lease
	err := s.change(ctx, "acquire", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lock(ctx, encode(id))
		if err != nil {
			return err
		}
		if t.attempt > 0 && l != nil && r != nil && r.nonce == nonce && r.counts(l.token) {
			return nil // an earlier attempt took it
		}
		l = nil
		made := r == nil || r.status == ""
		if made {
			if req.Create == nil {
				return notFound(id)
			}
			r, err = t.make(ctx, id, *req.Create, nonce)
			if errors.Is(err, errMadeMeanwhile) {
				made, err = false, nil
			}
			if err != nil {
				return err
			}
		}
		if err := t.notBehind(ctx, r); err != nil {
			return err
		}
		if r.isHeld() && !req.Steal {
			return r.busy()
		}
		l, err = t.take(ctx, r, req, nonce)
		if err == nil && made {
			l.before.Status = ""
		}
		return err
	})
	return leaseOrNil(l, err)
}

func leaseOrNil(l *lease, err error) (checkpoint.Lease, error) {
	if err != nil || l == nil {
		return nil, err
	}
	return l, nil
}

// take gives out the lease of a run.
func (t *transaction) take(ctx context.Context, r *row, req checkpoint.LeaseRequest, nonce int64) (*lease, error) {
	waiting, err := t.waiting(ctx, r)
	if err != nil {
		return nil, err
	}
	token, err := t.next(ctx)
	if err != nil {
		return nil, err
	}
	ttl := req.TTL
	if ttl <= 0 {
		ttl = defaultTTL
	}
	ttl = max(ttl, shortestTTL)
	l := &lease{store: t.Store, id: r.name(), no: r.no, token: uint64(token), ttl: ttl, before: r.info(waiting),
		turn: make(chan struct{}, 1), stops: make(chan checkpoint.StopRequest, 1)}
	r.take(token, nonce, req.Owner, ttl)
	if r.stop != nil {
		l.deliver(*r.stop)
	}
	return l, t.save(ctx, r)
}

// inFront is the condition for a run o that keeps one of the same key from being taken, which has a number and was born
// at a time: o was made before and has not ended, or somebody holds it.
func inFront(tenant, serial, no, born string) string {
	return `o.tenant = ` + tenant + ` AND o.serial = ` + serial + ` AND o.no <> ` + no + ` AND (
		o.born < ` + born + ` AND (o.status IN ('ready', 'running', 'waiting') OR o.owner <> '') OR
		o.owner <> '' AND o.lease_until > {now})`
}

var (
	behindOther = inFront("r.tenant", "r.serial", "r.no", "r.born")
	firstOfKey  = `SELECT ` + strings.ReplaceAll("o."+columns, ", ", ", o.") + `, {now} FROM {runs} o
		WHERE ` + inFront("$1", "$2", "$3", "$4") + ` ORDER BY o.born LIMIT 1`
)

// notBehind returns an error if another run of the same key is in front.
func (t *transaction) notBehind(ctx context.Context, r *row) error {
	if r.serial == "" {
		return nil
	}
	if err := t.lockKey(ctx, r.serial); err != nil {
		return err
	}
	other, err := scanRow(t.one(ctx, firstOfKey, t.tenant, r.serial, r.no, r.born))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	busy := other.busy().(*checkpoint.BusyError)
	busy.ID = r.name()
	if busy.Owner == "" {
		busy.Owner = "nobody"
	}
	return fmt.Errorf("run %q of the same key is in front: %w", other.name(), busy)
}

// AcquireDue takes the run that is due for longest.
func (s *Store) AcquireDue(ctx context.Context, req checkpoint.LeaseRequest, due checkpoint.Due) (
	checkpoint.Lease, error) {
	query, args := s.dueQuery(due)
	nonce := rand.Int64()
	var l *lease
	err := s.change(ctx, "acquire", "that is due", func(ctx context.Context, t *transaction) error {
		l = nil // one that an earlier attempt took without an answer is due again when its lease has ended
		r, err := t.own(scanRow(t.tx.QueryRowContext(ctx, t.sql(query), args...)))
		if err != nil {
			return err
		}
		if r == nil {
			return checkpoint.ErrNothingDue
		}
		err = t.notBehind(ctx, r)
		if errors.Is(err, checkpoint.ErrRunBusy) {
			return again(t.attempt < 10, checkpoint.ErrNothingDue) // since the query began; there may be others
		}
		if err != nil {
			return err
		}
		l, err = t.take(ctx, r, req, nonce)
		return err
	})
	if errors.Is(err, checkpoint.ErrNothingDue) {
		err = checkpoint.ErrNothingDue
	}
	return leaseOrNil(l, err)
}

// dueQuery finds the run that a worker takes next.
func (s *Store) dueQuery(due checkpoint.Due) (query string, args []any) {
	args = []any{s.tenant}
	var where strings.Builder
	for _, names := range []struct {
		column string
		any    []string
	}{{"queue", due.Queues}, {"agent", due.Agents}} {
		if len(names.any) > 0 {
			where.WriteString(" AND r." + names.column + in(&args, names.any, escape))
		}
	}
	return `SELECT {r_columns}, {now} FROM {runs} r
		WHERE r.tenant = $1 AND r.due_at IS NOT NULL AND r.due_at <= {now}
		AND (r.owner = '' OR r.lease_until <= {now})` +
		where.String() + ` AND (r.serial = '' OR NOT EXISTS (SELECT 1 FROM {runs} o WHERE ` + behindOther + `))
		ORDER BY r.priority DESC, r.due_at, r.born LIMIT 1{skip_locked}`, args
}

// in writes a condition that a column has one of the values.
func in[T ~string](args *[]any, values []T, key func(string) string) string {
	if len(values) == 1 {
		*args = append(*args, key(string(values[0])))
		return fmt.Sprintf(" = $%d", len(*args))
	}
	var b strings.Builder
	for i, v := range values {
		*args = append(*args, key(string(v)))
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", len(*args))
	}
	return " IN (" + b.String() + ")"
}

// halfOf is when an append moves due_at: see dueAt.
func halfOf(ttl time.Duration) int64 { return ttl.Microseconds() / 2 }
