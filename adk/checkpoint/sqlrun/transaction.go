package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/weftgo/weft/adk/checkpoint"
)

// transaction is one attempt to change runs of a tenant. Locks are taken in this order: rows of runs as they are met,
// then that of a key. Transactions that meet runs in different orders may deadlock; the database then chooses one,
// which is tried again.
type transaction struct {
	*Store
	tx *sql.Tx
	// attempt counts from 0. An earlier one may have been committed without an answer.
	attempt int
	// woken are the runs that became due.
	woken []checkpoint.Due
}

// change does something in a transaction. It is tried again if the database could not do it.
func (s *Store) change(ctx context.Context, doing, id string,
	do func(ctx context.Context, t *transaction) error) error {
	if err := ctx.Err(); err != nil {
		return failed(doing, id, err)
	}
	var woken []checkpoint.Due
	err := s.retry(ctx, func(ctx context.Context, attempt int) error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		t := &transaction{Store: s, tx: tx, attempt: attempt}
		if err := do(ctx, t); err != nil {
			return err
		}
		woken = t.woken
		return tx.Commit()
	})
	if err != nil {
		return failedOnce(doing, id, err)
	}
	for _, due := range woken {
		s.wake(due)
	}
	return nil
}

func (t *transaction) exec(ctx context.Context, template string, args ...any) (int64, error) {
	result, err := t.tx.ExecContext(ctx, t.sql(template), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *transaction) one(ctx context.Context, template string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, t.sql(template), args...)
}

// lock reads the row of an ID and locks it; nil if there is none.
func (t *transaction) lock(ctx context.Context, key string) (*row, error) {
	r, err := scanRow(t.one(ctx, `SELECT {columns}, {now} FROM {runs} WHERE tenant = $1 AND id = $2{for_update}`,
		t.tenant, key))
	return t.own(r, err)
}

// lockNo is lock for a run whose number is known.
func (t *transaction) lockNo(ctx context.Context, no int64) (*row, error) {
	r, err := scanRow(t.one(ctx, `SELECT {columns}, {now} FROM {runs} WHERE no = $1{for_update}`, no))
	return t.own(r, err)
}

// own gives the row the name of the tenant. That there is no row is no error.
func (t *transaction) own(r *row, err error) (*row, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.tenantName = t.name
	return r, nil
}

// lockRun is lock for a run that must exist: what was written without a lease is none.
func (t *transaction) lockRun(ctx context.Context, id string) (*row, error) {
	r, err := t.lock(ctx, encode(id))
	if err == nil && (r == nil || r.status == "") {
		return nil, notFound(id)
	}
	return r, err
}

// next draws from the source of tokens.
func (t *transaction) next(ctx context.Context) (n int64, err error) {
	if t.dialect.BumpToken != "" {
		if _, err := t.exec(ctx, t.dialect.BumpToken); err != nil {
			return 0, err
		}
	}
	err = t.one(ctx, `SELECT {token}`).Scan(&n)
	return n, err
}

// plain makes the row of an ID that has none: it is no run, as long as its status is "". It returns nil if somebody
// else made one meanwhile.
func (t *transaction) plain(ctx context.Context, id string) (*row, error) {
	no, err := t.next(ctx)
	if err != nil {
		return nil, err
	}
	r := &row{no: no, born: no, id: encode(id), tenantName: t.name, details: details{ID: hashed(id)}}
	made, err := t.exec(ctx, `INSERT INTO {runs} (no, born, tenant, id, status, token, owner, lease_until, taken,
			nonce, life, attempts, agent, queue, serial, parent, priority, wake_at, deadline, next_seq, steps, bytes,
			saved, asks, created_at, updated_at, error, details)
		VALUES ($1, $1, $2, $3, '', 0, '', 0, '', 0, 0, 0, '', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, {now}, {now}, '', $4)
		ON CONFLICT (tenant, id) DO NOTHING`, no, t.tenant, r.id, r.details.text())
	if err != nil || made == 0 {
		return nil, err
	}
	return t.lockNo(ctx, no)
}

// lockOrMake reads and locks the row of an ID, or makes it.
func (t *transaction) lockOrMake(ctx context.Context, id string) (*row, error) {
	for range 10 {
		r, err := t.lock(ctx, encode(id))
		if r != nil || err != nil {
			return r, err
		}
		if r, err = t.plain(ctx, id); r != nil || err != nil {
			return r, err
		}
	}
	return nil, fmt.Errorf("the row is made and removed all the time")
}

// save writes the row.
func (t *transaction) save(ctx context.Context, r *row) error {
	_, err := t.exec(ctx,
		`UPDATE {runs} SET born = $2, status = $3, token = $4, owner = $5, lease_until = $6, taken = $7,
			nonce = $8, life = $9, attempts = $10, agent = $11, queue = $12, serial = $13, parent = $14, priority = $15,
			wake_at = $16, due_at = $17, deadline = $18, next_seq = $19, steps = $20, bytes = $21, saved = $22,
			asks = $23, created_at = $24, updated_at = $25, expires_at = $26, error = $27, stop = $28, details = $29
		WHERE no = $1`,
		r.no, r.born, string(r.status), r.token, r.owner, r.leaseUntil, string(r.taken), r.nonce, r.life, r.attempts,
		r.agent, r.queue, r.serial, r.parent, r.priority, r.wakeAt, r.dueAt(), r.deadline, r.nextSeq, r.steps,
		r.bytes, r.saved, r.asks, r.created, r.updated, null(r.expires), r.err, r.stopText(), r.details.text())
	return err
}

// remove removes the row and everything of it.
func (t *transaction) remove(ctx context.Context, r *row) error {
	if err := t.dropRecords(ctx, r); err != nil {
		return err
	}
	for _, table := range perRun {
		if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE run = $1`, r.no); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, `DELETE FROM {runs} WHERE no = $1`, r.no)
	return err
}

// lockKey has transactions that make or take runs of one key wait for each other, so that the order in which they see
// those runs is the one in which the runs were made.
func (t *transaction) lockKey(ctx context.Context, serial string) error {
	if t.dialect.oneWriter() {
		return nil
	}
	hash := fnv.New32a()
	hash.Write([]byte(t.tenant + "\x00" + serial))
	var n int64
	return t.one(ctx, `SELECT n FROM {locks} WHERE n = $1{for_update}`, int64(hash.Sum32()%keyLocks)).Scan(&n)
}

// null is NULL for 0.
func null(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
