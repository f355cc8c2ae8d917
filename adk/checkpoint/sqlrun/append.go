package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

const insertStep = `INSERT INTO {steps} (place, data) VALUES ($1, $2)`

// appendRow notes a record of the holder of a lease, if the lease counts and has appended exactly $5 records: so that
// one whose answer was lost is not appended again. The time of the update is exact to a second while a run is executed:
// what lists are sorted by is not written for each record.
const appendRow = `UPDATE {runs} SET next_seq = next_seq + 1, steps = steps + 1, bytes = bytes + $6, life = life + 1,
	attempts = CASE WHEN life > 0 THEN 1 ELSE attempts END,
	status = CASE WHEN status = 'done' THEN status ELSE 'running' END, expires_at = NULL, lease_until = {now} + $2,
	updated_at = CASE WHEN status <> 'running' OR updated_at < {now} - 1000000 THEN {now} ELSE updated_at END,
	due_at = CASE WHEN status = 'done' THEN NULL WHEN status <> 'running' OR due_at IS NULL OR due_at < {now} + $3
		THEN {now} + $2 ELSE due_at END
	WHERE no = $1 AND token = $4 AND held = 1 AND life = $5 AND next_seq < 16777215
	RETURNING next_seq, stops`

// appendFunction does all of it in the database, which keeps the plan.
const appendFunction = `CREATE OR REPLACE FUNCTION {append} ({int}, {int}, {int}, {int}, {int}, {int}, {blob})
	RETURNS {int} LANGUAGE plpgsql AS $$
	DECLARE seq {int}; requests {int};
	BEGIN
		` + appendRow + ` INTO seq, requests;
		IF NOT FOUND THEN RETURN NULL; END IF;
		INSERT INTO {steps} (place, data) VALUES ($1 * 16777216 + seq, $7);
		RETURN requests;
	END $$`

const callAppend = `SELECT {append}($1, $2, $3, $4, $5, $6, $7)`

// appending is a record that is to be appended, with its sum.
type appending struct {
	lease  *lease
	record []byte
	// stops came back with it. err is why nothing was appended.
	stops int64
	err   error
}

func (a *appending) args() []any {
	l := a.lease
	return []any{l.no, l.TTL().Microseconds(), halfOf(l.TTL()), int64(l.Token()), l.life, int64(len(a.record) - storekit.SumSize)}
}

// AppendRecord adds a record and renews the lease.
func (l *lease) AppendRecord(ctx context.Context, id string, record []byte) error {
	const doing = "append to the journal of"
	if err := l.Check(doing, id, record); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return storekit.Failed(doing, id, err)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return storekit.Failed(doing, id, ctx.Err())
	}
	a := &appending{lease: l, record: storekit.AddSum(record, l.no, recordKind)}
	if err := l.append(ctx, a); err != nil {
		return storekit.FailedOnce(doing, id, err)
	}
	return l.noteStops(ctx, a.stops)
}

// append appends a record. The caller has the turn.
func (l *lease) append(ctx context.Context, a *appending) (err error) {
	if l.unsure {
		if err := l.count(ctx); err != nil {
			return err
		}
	}
	if l.store.dialect.oneWriter() {
		if err = l.store.appends.do(ctx, a, l.store.appendTogether); err == nil {
			err = a.err
		}
	} else {
		err = l.store.appendNow(ctx, a)
	}
	if err != nil {
		l.unsure = true
		return err
	}
	l.life++
	return nil
}

// count asks how many records the lease has appended.
func (l *lease) count(ctx context.Context) error {
	return l.store.retry(ctx, func(ctx context.Context, _ int) error {
		life, err := l.counted(l.store.db.QueryRowContext(ctx, l.store.sql(appended), l.no))
		if err == nil {
			l.life, l.unsure = life, false
		}
		return err
	})
}

// appended asks how many records a lease has appended, and whether it still counts.
const appended = `SELECT token, held, life FROM {runs} WHERE no = $1`

func (l *lease) counted(found *sql.Row) (life int64, err error) {
	var token, held int64
	err = found.Scan(&token, &held, &life)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (uint64(token) != l.Token() || held == 0) {
		return 0, l.Lost()
	}
	return life, err
}

// missed finds out why an attempt appended nothing: nil if an earlier one had stored the record and got no answer.
func (a *appending) missed(attempt int, found *sql.Row) error {
	life, err := a.lease.counted(found)
	if err != nil || attempt > 0 && life == a.lease.life+1 {
		return err
	}
	if life == a.lease.life {
		return errTooManySteps
	}
	return fmt.Errorf("the lease has appended %d records, and the database knows of %d", a.lease.life, life)
}

// appendNow appends in one statement.
func (s *engine) appendNow(ctx context.Context, a *appending) error {
	return s.retry(ctx, func(ctx context.Context, attempt int) error {
		var stops sql.NullInt64
		err := s.db.QueryRowContext(ctx, s.sql(callAppend), append(a.args(), a.record)...).Scan(&stops)
		if err == nil && !stops.Valid {
			return a.missed(attempt, s.db.QueryRowContext(ctx, s.sql(appended), a.lease.no))
		}
		a.stops = stops.Int64
		return err
	})
}

var errTooManySteps = fmt.Errorf("the journal is full: it has had %d records", mostSteps-1)

// appendTogether writes records in one transaction, and sets the error of each. If the database refuses one of several,
// each is written on its own.
func (s *engine) appendTogether(ctx context.Context, all []*appending) {
	err := s.retry(ctx, func(ctx context.Context, attempt int) error { return s.appendOnce(ctx, attempt, all) })
	switch {
	case err == nil:
	case len(all) > 1 && !errors.Is(err, ErrUnavailable):
		for i := range all {
			s.appendTogether(ctx, all[i:i+1])
		}
	default:
		for _, a := range all {
			a.err = err
		}
	}
}

func (s *engine) appendOnce(ctx context.Context, attempt int, all []*appending) error {
	note, err := s.prepare(ctx, appendRow)
	if err != nil {
		return err
	}
	insert, err := s.prepare(ctx, insertStep)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	note, insert = tx.StmtContext(ctx, note), tx.StmtContext(ctx, insert)
	for _, a := range all {
		var seq int64
		err := note.QueryRowContext(ctx, a.args()...).Scan(&seq, &a.stops)
		if errors.Is(err, sql.ErrNoRows) {
			a.err = a.missed(attempt, tx.QueryRowContext(ctx, s.sql(appended), a.lease.no))
			continue
		}
		if err == nil {
			_, err = insert.ExecContext(ctx, placeOf(a.lease.no, seq), a.record)
		}
		if err != nil {
			return err
		}
		a.err = nil
	}
	return tx.Commit()
}

// prepare returns a statement that is kept.
func (s *engine) prepare(ctx context.Context, template string) (*sql.Stmt, error) {
	if stmt, ok := s.prepared.Load(template); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := s.db.PrepareContext(ctx, s.sql(template))
	if err != nil {
		return nil, err
	}
	if other, ok := s.prepared.LoadOrStore(template, stmt); ok {
		return other.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}
