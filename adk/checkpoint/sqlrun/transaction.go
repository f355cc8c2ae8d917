package sqlrun

import (
	"context"
	"database/sql"
	"hash/fnv"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// transaction is one attempt to change runs of a tenant. Locks are taken in this order: rows of runs as they are met, then
// the lock of a key. Transactions that meet runs in different orders may deadlock; the database then chooses one, which is
// tried again.
type transaction struct {
	*Store
	tx *sql.Tx
	// attempt counts from 0. An earlier one may have been committed without an answer.
	attempt int
	// woken are the runs that became due.
	woken []runs.Due
}

// change does something in a transaction. It is tried again if the database could not do it.
func (s *Store) change(ctx context.Context, doing, id string,
	do func(ctx context.Context, t *transaction) error) error {
	if err := ctx.Err(); err != nil {
		return storekit.Failed(doing, id, err)
	}
	var woken []runs.Due
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
		return storekit.FailedOnce(doing, id, err)
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
