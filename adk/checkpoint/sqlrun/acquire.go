package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// claim is one call that takes a run, in as many attempts as it needs.
type claim struct {
	store *Store
	req   runs.LeaseRequest
	nonce int64
	// made are the leases of all attempts, by their tokens: the answer of one may have been lost, and its transaction
	// committed while the next one was under way.
	made map[uint64]*lease
	// lease is the one that was taken.
	lease *lease
}

func (s *Store) claim(req runs.LeaseRequest) *claim {
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

func (c *claim) result(err error) (runs.Lease, error) {
	if err != nil {
		return nil, err
	}
	c.store.stops.Hold(c.lease.no, c.lease)
	return c.lease, nil
}

// Acquire takes a run.
func (s *Store) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
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

// A run o is in front of one of the same key that is to be taken (see storekit.Row.IsBehind) if it was made before and has
// not ended, or if it is held. The conditions are the same as in the indexes.
const (
	madeBefore = `{runs} o {by_runs_first} WHERE o.tenant = $tenant AND o.serial = $serial AND o.serial <> '' AND o.born < $born
		AND (o.status IN ('ready', 'running', 'waiting') OR o.held = 1)`
	isHeld = `{runs} o {by_runs_held} WHERE o.tenant = $tenant AND o.serial = $serial AND o.serial <> '' AND o.held = 1
		AND o.no <> $no AND o.lease_until > {at}`
)

// of writes such a condition for a run.
func of(condition, tenant, serial, no, born string) string {
	return strings.NewReplacer("$tenant", tenant, "$serial", serial, "$no", no, "$born", born).Replace(condition)
}

var (
	notBehindOther = `(r.serial = '' OR NOT EXISTS (SELECT 1 FROM ` + of(madeBefore, "r.tenant", "r.serial", "r.no", "r.born") +
		`) AND NOT EXISTS (SELECT 1 FROM ` + of(isHeld, "r.tenant", "r.serial", "r.no", "r.born") + `))`
	columnsOfOther = `SELECT ` + strings.ReplaceAll("o."+columns, ", ", ", o.") + `, {now} FROM `
	firstOfKey     = columnsOfOther + of(madeBefore, "$1", "$2", "", "$3") + ` ORDER BY o.born LIMIT 1`
	heldOfKey      = columnsOfOther + of(isHeld, "$1", "$2", "$3", "") + ` LIMIT 1`
	anyOfKey       = `SELECT COUNT(*) FROM (SELECT 1 FROM ` + of(madeBefore, "$1", "$2", "", "$3") + ` LIMIT 1) AS one`
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
	other, err := scanRow(t.one(ctx, firstOfKey, t.tenant, encode(r.Run.Key), int64(r.Born)))
	if errors.Is(err, sql.ErrNoRows) {
		other, err = scanRow(t.one(ctx, heldOfKey, t.tenant, encode(r.Run.Key), r.no))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return other, err
}

// waitInLine has workers that look for what is due not look at a new run, whose key is locked, while another one of its key
// that was made before has not ended: see nextOfKey. So it costs a poll nothing that many wait.
func (t *transaction) waitInLine(ctx context.Context, r *row) error {
	if r.Run.Key == "" {
		return nil
	}
	var others int
	if err := t.one(ctx, anyOfKey, t.tenant, encode(r.Run.Key), int64(r.Born)).Scan(&others); err != nil {
		return err
	}
	if others > 0 {
		r.has |= isBehind
	}
	return nil
}

// nextOfKey has workers look for the next run of a key when one that others wait for has ended. All others that wait in
// line were made later than that one.
func (t *transaction) nextOfKey(ctx context.Context, r *row) error {
	var serial string
	if err := t.one(ctx, `SELECT serial FROM {runs} WHERE no = $1`, r.no).Scan(&serial); err != nil || serial == "" {
		return err
	}
	if err := t.lockKey(ctx, serial); err != nil {
		return err
	}
	next, err := scanRow(t.one(ctx, `SELECT {columns}, {now} FROM {runs} {by_runs_behind} WHERE tenant = $1 AND serial = $2
		AND serial <> '' AND status = 'ready' AND due_at IS NULL ORDER BY born LIMIT 1{for_update}`, t.tenant, serial))
	var bad *unreadable
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case errors.As(err, &bad): // so that a worker says so
		next = bad.row
	case err != nil:
		return err
	}
	due, _ := next.DueFrom()
	_, err = t.exec(ctx, `UPDATE {runs} SET due_at = $2, has = $3 WHERE no = $1`, next.no, micros(due), next.has&^isBehind)
	t.woken = append(t.woken, runs.Due{})
	return err
}

// mostPassedOver is the number of unreadable runs that one call of AcquireDue passes over.
const mostPassedOver = 100

// AcquireDue takes the run that is due for longest. One that it took without getting the answer is due again when its
// lease has ended. A run that cannot be read is passed over; its error is returned when nothing else is due, once a minute.
func (s *Store) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (
	runs.Lease, error) {
	var bad error
	for range mostPassedOver {
		lease, err := s.acquireDue(ctx, req, due)
		var row *unreadable
		if errors.As(err, &row) && s.passedOver.Add(row.row.no) {
			bad = err
			continue
		}
		if err == runs.ErrNothingDue && bad != nil {
			err = bad
		}
		return lease, err
	}
	return nil, bad
}

// acquireDue looks for the first priority of which a run is due, without a transaction, and then for that run in one:
// workers that find nothing keep no one from writing.
func (s *Store) acquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (
	runs.Lease, error) {
	passedOver := s.passedOver.Keys()
	for below := int64(math.MaxInt64); ; {
		query, args := s.priorityQuery(due, passedOver, below)
		var priority sql.NullInt64
		err := s.read(ctx, "acquire", "that is due", func(ctx context.Context) error {
			err := s.reads.QueryRowContext(ctx, s.writer.write(query), args...).Scan(&priority)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !priority.Valid {
			return nil, runs.ErrNothingDue
		}
		lease, err := s.acquireOf(ctx, req, due, passedOver, priority.Int64)
		if err != runs.ErrNothingDue {
			return lease, err
		}
		below = priority.Int64 // others were faster
	}
}

// acquireOf takes the run of a priority that is due for longest.
func (s *Store) acquireOf(
	ctx context.Context, req runs.LeaseRequest, due runs.Due, passedOver []int64, priority int64,
) (runs.Lease, error) {
	query, args := s.dueQuery(due, passedOver, priority)
	c := s.claim(req)
	err := s.change(ctx, "acquire", "that is due", func(ctx context.Context, t *transaction) error {
		found, err := scanRow(t.tx.QueryRowContext(ctx, t.writer.write(query), args...))
		r, err := t.own(ctx, found, err)
		if err != nil {
			return err
		}
		if r == nil {
			return runs.ErrNothingDue
		}
		err = t.notBehind(ctx, r)
		if errors.Is(err, runs.ErrBusy) {
			return again(t.attempt < 10, runs.ErrNothingDue) // since the query began; there may be others
		}
		if err != nil {
			return err
		}
		return c.take(ctx, t, r, false)
	})
	if errors.Is(err, runs.ErrNothingDue) {
		err = runs.ErrNothingDue
	}
	return c.result(err)
}

// dueOf are the index of what is due, and the conditions for a run r that a worker looks for, but for its priority and time.
func (s *Store) dueOf(due runs.Due, passedOver []int64, args *[]any) (index, isIn, where string) {
	index, isIn = "{by_runs_due}", "r.tenant = $1 AND r.due_at IS NOT NULL"
	*args = append(*args, s.tenant)
	if len(due.Queues) == 1 {
		index, isIn = "{by_runs_due_queue}", isIn+" AND r.queue"+in(args, due.Queues, encode)
	}
	var b strings.Builder
	b.WriteString(" AND (r.held = 0 OR r.lease_until <= {at})")
	if len(due.Queues) > 1 {
		b.WriteString(" AND r.queue" + in(args, due.Queues, encode))
	}
	if len(due.Agents) > 0 {
		b.WriteString(" AND r.agent" + in(args, due.Agents, encode))
	}
	if len(due.Queues) == 0 {
		b.WriteString(" AND r.queue <> '{own}'")
	}
	for _, no := range passedOver {
		*args = append(*args, no)
		fmt.Fprintf(&b, " AND r.no <> $%d", len(*args))
	}
	return index, isIn, b.String() + " AND " + notBehindOther
}

// priorityQuery finds the highest priority below one of which a run is due. It goes from one priority to the next, and looks
// at none of the runs that will be due later.
func (s *Store) priorityQuery(due runs.Due, passedOver []int64, below int64) (query string, args []any) {
	index, isIn, where := s.dueOf(due, passedOver, &args)
	args = append(args, below)
	next := `SELECT (SELECT r.priority FROM {runs} r ` + index + ` WHERE ` + isIn + ` AND r.priority < %s
		ORDER BY r.priority DESC LIMIT 1)`
	return fmt.Sprintf(`WITH RECURSIVE p (n) AS (`+next+` UNION ALL `+next+` FROM p WHERE p.n IS NOT NULL)
		SELECT p.n FROM p WHERE p.n IS NOT NULL AND (SELECT 1 FROM {runs} r %s WHERE %s AND r.priority = p.n
		AND r.due_at <= {at}%s ORDER BY r.due_at, r.born LIMIT 1) IS NOT NULL ORDER BY p.n DESC LIMIT 1`,
		fmt.Sprintf("$%d", len(args)), "p.n", index, isIn, where), args
}

// dueQuery finds the run of a priority that a worker takes next.
func (s *Store) dueQuery(due runs.Due, passedOver []int64, priority int64) (query string, args []any) {
	index, isIn, where := s.dueOf(due, passedOver, &args)
	args = append(args, priority)
	return fmt.Sprintf(`SELECT {r_columns}, {now} FROM {runs} r %s WHERE %s AND r.priority = $%d AND r.due_at <= {at}%s
		ORDER BY r.due_at, r.born LIMIT 1{skip_locked}`, index, isIn, len(args), where), args
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

// halfOf is the part of a lease by which due_at of a run that is executed may be off before an append writes it: the index
// is not written each time. So it is a time before the end of the lease.
func halfOf(ttl time.Duration) int64 { return ttl.Microseconds() / 2 }
