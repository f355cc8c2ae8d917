package sqlrun

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
)

// lease is a run that is held.
type lease struct {
	store  *Store
	id     string
	no     int64
	token  uint64
	ttl    time.Duration
	before checkpoint.RunInfo
	// stops has the last request to stop that was not received.
	stops chan checkpoint.StopRequest

	// turn is full while a record is appended: one at a time, so that life says which of them are stored.
	turn chan struct{}
	// life is how many records the lease has appended, unless it is unsure: an append failed, and may have been done.
	// Both are owned by who has the turn.
	life   int64
	unsure bool
}

func (l *lease) Token() uint64                        { return l.token }
func (l *lease) TTL() time.Duration                   { return l.ttl }
func (l *lease) Info() checkpoint.RunInfo             { return l.before }
func (l *lease) Stops() <-chan checkpoint.StopRequest { return l.stops }

// deliver passes on a request to stop. One that was not received gives way.
func (l *lease) deliver(stop checkpoint.StopRequest) {
	for {
		select {
		case l.stops <- stop:
			return
		default:
		}
		select {
		case <-l.stops:
		default:
		}
	}
}

// isOf refuses the ID of another run.
func (l *lease) isOf(id string) error {
	if l.id != id {
		return failed("use", id, fmt.Errorf("the lease is of run %.80q", l.id))
	}
	return nil
}

// lost is the error of a lease that no longer counts.
func (l *lease) lost() error {
	return &checkpoint.RunError{Err: checkpoint.ErrLeaseLost, Info: checkpoint.RunInfo{ID: l.id, Token: l.token}}
}

func (l *lease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if err := l.isOf(id); err != nil {
		return nil, false, err
	}
	return l.store.Get(ctx, id)
}

func (l *lease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	if err := l.isOf(id); err != nil {
		return nil, err
	}
	return l.store.ReadRecords(ctx, id)
}

func (l *lease) Set(ctx context.Context, id string, checkPoint []byte) error {
	if err := l.store.checkSize("set", id, checkPoint); err != nil {
		return err
	}
	return l.write(ctx, "set", id, func(ctx context.Context, t *transaction, r *row) error {
		r.leaseUntil, r.updated = after(r.now, l.ttl), r.now
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
	if err := l.isOf(id); err != nil {
		return err
	}
	return l.store.change(ctx, doing, id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockNo(ctx, l.no)
		if err != nil {
			return err
		}
		if r == nil || !r.counts(l.token) {
			return l.lost()
		}
		if err := do(ctx, t, r); err != nil {
			return err
		}
		if r.stop != nil {
			l.deliver(*r.stop)
		}
		return t.save(ctx, r)
	})
}

const readNo = `SELECT {columns}, {now} FROM {runs} WHERE no = $1`

// Answers are those that were given and are not used up.
func (l *lease) Answers(ctx context.Context) (answers []checkpoint.Answer, err error) {
	err = l.store.read(ctx, "read the answers of", l.id, func(ctx context.Context) error {
		answers = nil
		r, err := scanRow(l.store.db.QueryRowContext(ctx, l.store.sql(readNo), l.no))
		if err != nil && err != sql.ErrNoRows {
			return err
		}
		if r == nil || !r.counts(l.token) {
			return l.lost()
		}
		questions, err := readQuestions(ctx, l.store.db, l.store, []int64{l.no})
		for _, q := range questions[l.no] {
			if q.answer != nil {
				answers = append(answers, *q.answer)
			}
		}
		return err
	})
	return answers, err
}

// extendLease is the part of a statement that notes a sign of life. $2 is the TTL, $3 half of it. See row.dueAt.
const extendLease = `lease_until = {now} + $2,
	due_at = CASE WHEN status = 'running' AND (due_at IS NULL OR due_at < {now} + $3) THEN {now} + $2 ELSE due_at END`

// Renew makes the lease count for its TTL from now on.
func (l *lease) Renew(ctx context.Context) error {
	var stop sql.NullString
	err := l.store.read(ctx, "renew the lease of", l.id, func(ctx context.Context) error {
		err := l.store.db.QueryRowContext(ctx, l.store.sql(`UPDATE {runs} SET `+extendLease+`
			WHERE no = $1 AND token = $4 AND owner <> '' RETURNING stop`),
			l.no, l.ttl.Microseconds(), halfOf(l.ttl), int64(l.token)).Scan(&stop)
		if err == sql.ErrNoRows {
			return l.lost()
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.noteStop(stop)
}

// noteStop delivers a request to stop that came back with a write.
func (l *lease) noteStop(text sql.NullString) error {
	stop, err := readStop(text)
	if stop != nil {
		l.deliver(*stop)
	}
	return err
}

// renewAtOnce is how many leases one statement of RenewAll renews.
const renewAtOnce = 200

// RenewAll renews many leases of the database in few statements, those of all tenants. It returns the leases that are
// lost. After an error some of the others may not be renewed.
func (s *Store) RenewAll(ctx context.Context, leases []checkpoint.Lease) (lost []checkpoint.Lease, err error) {
	for len(leases) > 0 && err == nil {
		n := min(len(leases), renewAtOnce)
		var some []checkpoint.Lease
		some, err = s.renewSome(ctx, leases[:n])
		lost, leases = append(lost, some...), leases[n:]
	}
	return lost, err
}

func (s *Store) renewSome(ctx context.Context, leases []checkpoint.Lease) (lost []checkpoint.Lease, err error) {
	var values strings.Builder
	args := make([]any, 0, 3*len(leases))
	byNo := make(map[int64]*lease, len(leases))
	for i, held := range leases {
		l, ok := held.(*lease)
		if !ok || l.store.engine != s.engine {
			return nil, fmt.Errorf("sqlrun: renew leases: lease %d is of another store", held.Token())
		}
		byNo[l.no] = l
		if i > 0 {
			values.WriteString(", ")
		}
		fmt.Fprintf(&values, "(CAST($%d AS {int}), CAST($%d AS {int}), CAST($%d AS {int}))", 3*i+1, 3*i+2, 3*i+3)
		args = append(args, l.no, int64(l.token), l.ttl.Microseconds())
	}
	statement := s.writer.write(`WITH held (no, token, ttl) AS (VALUES ` + values.String() + `)
		UPDATE {runs} SET lease_until = {now} + held.ttl,
			due_at = CASE WHEN status = 'running' AND (due_at IS NULL OR due_at < {now} + held.ttl / 2)
				THEN {now} + held.ttl ELSE due_at END
		FROM held WHERE {runs}.no = held.no AND {runs}.token = held.token AND owner <> ''
		RETURNING {runs}.no, {runs}.token, stop`)
	renewed := make(map[uint64]bool, len(leases))
	err = s.retry(ctx, func(ctx context.Context, _ int) error { return s.renewRows(ctx, statement, args, byNo, renewed) })
	if err != nil {
		return nil, fmt.Errorf("renew %d leases: %w", len(leases), err)
	}
	for _, l := range leases {
		if !renewed[l.Token()] {
			lost = append(lost, l)
		}
	}
	return lost, nil
}

func (s *Store) renewRows(ctx context.Context, statement string, args []any, byNo map[int64]*lease,
	renewed map[uint64]bool) error {
	rows, err := s.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var no, token int64
		var stop sql.NullString
		if err := rows.Scan(&no, &token, &stop); err != nil {
			return err
		}
		renewed[uint64(token)] = true
		if l := byNo[no]; l != nil && l.token == uint64(token) {
			if err := l.noteStop(stop); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}
