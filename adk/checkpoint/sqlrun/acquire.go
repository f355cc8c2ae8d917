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
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// claim is one call that takes a run, in as many attempts as it needs.
type claim struct {
	store *Store
	req   checkpoint.LeaseRequest
	nonce int64
	// made are the leases of all attempts, by their tokens: the answer of one may have been lost, and its transaction
	// committed while the next one was under way.
	made map[uint64]*lease
	// lease is the one that was taken.
	lease *lease
}

func (s *Store) claim(req checkpoint.LeaseRequest) *claim {
	return &claim{store: s, req: req, nonce: rand.Int64(), made: map[uint64]*lease{}}
}

// did reports whether an earlier attempt took the run.
func (c *claim) did(r *row) bool {
	c.lease = c.made[r.Run.Token]
	return c.lease != nil && r.nonce == c.nonce && r.Holds(r.Run.Token)
}

// take gives out the lease of a run, which is new if it was made for that.
func (c *claim) take(ctx context.Context, t *transaction, r *row, isNew bool) error {
	token, err := t.next(ctx)
	if err != nil {
		return err
	}
	before, err := r.Acquire(uint64(token), c.req, r.now)
	if err != nil {
		return err
	}
	r.nonce, r.life = c.nonce, 0
	c.lease = &lease{Lease: storekit.NewLease(&r.Row, before, isNew, c.store), store: c.store, no: r.no, turn: make(chan struct{}, 1)}
	c.made[c.lease.Token()] = c.lease
	c.lease.seen.Store(r.stops)
	return t.save(ctx, r)
}

func (c *claim) result(err error) (checkpoint.Lease, error) {
	if err != nil {
		return nil, err
	}
	c.store.stops.Hold(c.lease.no, c.lease)
	return c.lease, nil
}

// Acquire takes a run.
func (s *Store) Acquire(ctx context.Context, id string, req checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	c := s.claim(req)
	err := s.change(ctx, "acquire", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lock(ctx, id)
		if err != nil {
			return err
		}
		isNew := r == nil || !r.isRun()
		if isNew {
			if req.Create == nil {
				return storekit.NotFound(id)
			}
			r, isNew, err = t.make(ctx, id, *req.Create, c.nonce)
			if err != nil {
				return err
			}
		}
		if c.did(r) {
			return nil
		}
		if err := t.notBehind(ctx, r); err != nil {
			return err
		}
		return c.take(ctx, t, r, isNew)
	})
	return c.result(err)
}

// inFront is the condition for a run o (see storekit.Row.IsBehind) that keeps one of the same key from being taken, which
// has a number and was born at a time: o was made before and has not ended, or somebody holds it.
func inFront(tenant, serial, no, born string) string {
	return `o.tenant = ` + tenant + ` AND o.serial = ` + serial + ` AND o.no <> ` + no + ` AND (
		o.born < ` + born + ` AND (o.status IN ('ready', 'running', 'waiting') OR o.held = 1) OR
		o.held = 1 AND o.lease_until > {now})`
}

var (
	behindOther = inFront("r.tenant", "r.serial", "r.no", "r.born")
	firstOfKey  = `SELECT ` + strings.ReplaceAll("o."+columns, ", ", ", o.") + `, {now} FROM {runs} o
		WHERE ` + inFront("$1", "$2", "$3", "$4") + ` ORDER BY o.born LIMIT 1`
)

// notBehind returns an error if another run of the same key is in front.
func (t *transaction) notBehind(ctx context.Context, r *row) error {
	if r.Run.Key == "" {
		return nil
	}
	if err := t.lockKey(ctx, encode(r.Run.Key)); err != nil {
		return err
	}
	other, err := t.inFront(ctx, r)
	if err != nil || other == nil {
		return err
	}
	return storekit.Behind(&r.Row, &other.Row)
}

// inFront is the first run of a key, which is locked, that keeps r from being taken; nil for none.
func (t *transaction) inFront(ctx context.Context, r *row) (*row, error) {
	other, err := scanRow(t.one(ctx, firstOfKey, t.tenant, encode(r.Run.Key), r.no, int64(r.Born)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return other, err
}

// mostPassedOver is how many runs that cannot be read one call of AcquireDue passes over.
const mostPassedOver = 100

// AcquireDue takes the run that is due for longest. One that it took without getting the answer is due again when its
// lease has ended. A run that cannot be read is passed over; its error is returned when nothing else is due, once a minute.
func (s *Store) AcquireDue(ctx context.Context, req checkpoint.LeaseRequest, due checkpoint.Due) (
	checkpoint.Lease, error) {
	var bad error
	for range mostPassedOver {
		lease, err := s.acquireDue(ctx, req, due)
		var row *unreadable
		if errors.As(err, &row) && s.passedOver.Add(row.row.no) {
			bad = err
			continue
		}
		if err == checkpoint.ErrNothingDue && bad != nil {
			err = bad
		}
		return lease, err
	}
	return nil, bad
}

func (s *Store) acquireDue(ctx context.Context, req checkpoint.LeaseRequest, due checkpoint.Due) (
	checkpoint.Lease, error) {
	query, args := s.dueQuery(due, s.passedOver.Keys())
	c := s.claim(req)
	err := s.change(ctx, "acquire", "that is due", func(ctx context.Context, t *transaction) error {
		found, err := scanRow(t.tx.QueryRowContext(ctx, t.sql(query), args...))
		r, err := t.own(ctx, found, err)
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
		return c.take(ctx, t, r, false)
	})
	if errors.Is(err, checkpoint.ErrNothingDue) {
		err = checkpoint.ErrNothingDue
	}
	return c.result(err)
}

// dueQuery finds the run that a worker takes next.
func (s *Store) dueQuery(due checkpoint.Due, passedOver []int64) (query string, args []any) {
	args = []any{s.tenant}
	var where strings.Builder
	for _, names := range []struct {
		column string
		any    []string
	}{{"queue", due.Queues}, {"agent", due.Agents}} {
		if len(names.any) > 0 {
			where.WriteString(" AND r." + names.column + in(&args, names.any, encode))
		}
	}
	if len(due.Queues) == 0 {
		args = append(args, encode(storekit.OwnQueue))
		fmt.Fprintf(&where, " AND r.queue <> $%d", len(args))
	}
	for _, no := range passedOver {
		args = append(args, no)
		fmt.Fprintf(&where, " AND r.no <> $%d", len(args))
	}
	return `SELECT {r_columns}, {now} FROM {runs} r
		WHERE r.tenant = $1 AND r.due_at IS NOT NULL AND r.due_at <= {now}
		AND (r.held = 0 OR r.lease_until <= {now})` +
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

// halfOf is how far off due_at of a run that is executed must be for an append to leave it: the index is not written each
// time. So it is a time before the end of the lease.
func halfOf(ttl time.Duration) int64 { return ttl.Microseconds() / 2 }
