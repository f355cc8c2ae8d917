package sqlrun

import (
	"bytes"
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Submit makes a run that is ready.
func (s *Store) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	nonce := rand.Int64()
	exists := false
	err = s.change(ctx, "submit", id, func(ctx context.Context, t *transaction) (err error) {
		info, exists, err = t.submit(ctx, id, run, nonce)
		return err
	})
	if err == nil && exists {
		err = &runs.Error{Err: runs.ErrExists, Info: info}
	}
	return info, err
}

// SubmitTx is Submit in a transaction of the caller, so that the run exists if, and only if, what else the transaction
// does is committed. The transaction must be one of the same database. An error leaves it to be rolled back, except one
// that matches runs.ErrExists. Workers find the run when they look the next time: they are not woken.
func (s *Store) SubmitTx(ctx context.Context, tx *sql.Tx, id string, run runs.Spec) (
	runs.Info, error) {
	t := &transaction{Store: s, tx: tx}
	info, exists, err := t.submit(ctx, id, run, 0)
	if err == nil && exists {
		err = &runs.Error{Err: runs.ErrExists, Info: info}
	}
	return info, storekit.FailedOnce("submit", id, err)
}

// submit makes a run, or says that there is one, unless an earlier attempt made it.
func (t *transaction) submit(ctx context.Context, id string, run runs.Spec, nonce int64) (
	info runs.Info, exists bool, err error) {
	r, err := t.lock(ctx, id)
	if err != nil {
		return info, false, err
	}
	isNew := r == nil || !r.isRun()
	if isNew {
		if r, isNew, err = t.make(ctx, id, run, nonce); err != nil {
			return info, false, err
		}
	}
	if isNew && run.Alone {
		other, err := t.inFront(ctx, r)
		if err == nil && other != nil {
			err = storekit.NotAlone(&r.Row, &other.Row)
		}
		if err != nil {
			return info, false, err
		}
	}
	if isNew {
		if err := t.waitInLine(ctx, r); err != nil {
			return info, false, err
		}
		return r.Info(), false, t.save(ctx, r)
	}
	return r.Info(), nonce == 0 || r.nonce != nonce, nil
}

// make makes a run under an ID that has none. What was written under it without a lease is the run's. The row has to be
// saved. If another process has made one since it was looked for, it returns that, and false.
func (t *transaction) make(ctx context.Context, id string, run runs.Spec, nonce int64) (*row, bool, error) {
	if run.Key != "" {
		if err := t.lockKey(ctx, encode(run.Key)); err != nil {
			return nil, false, err
		}
	}
	r, err := t.lockOrMake(ctx, id)
	if err != nil || r.isRun() {
		return r, false, err
	}
	born, err := t.next(ctx)
	if err != nil {
		return nil, false, err
	}
	made, err := storekit.New(id, run, uint64(born), r.now)
	if err != nil {
		return nil, false, err
	}
	made.Run.Tenant, made.Run.Steps, made.Run.Bytes = t.name, r.Run.Steps, r.Run.Bytes
	r.Row, r.nonce = *made, nonce
	for name, value := range run.Tags {
		_, err := t.exec(ctx, `INSERT INTO {tags} (run, name, value, tenant, status, updated_at, id)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			r.no, encode(name), encode(value), t.tenant, string(r.Run.Status), micros(r.Run.Updated), r.key)
		if err != nil {
			return nil, false, err
		}
	}
	return r, true, t.append(ctx, r, run.Records...)
}

// transition changes a run that exists.
func (s *Store) transition(ctx context.Context, doing, id string, do func(r *row, attempt int) error) error {
	return s.change(ctx, doing, id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockRun(ctx, id)
		if err != nil {
			return err
		}
		if err := do(r, t.attempt); err != nil {
			return err
		}
		return t.save(ctx, r)
	})
}

// Reply replies to questions of a run.
func (s *Store) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	answers, err := storekit.EncodedReplies(answers)
	if err != nil {
		return err
	}
	return s.transition(ctx, "answer", id, func(r *row, attempt int) error {
		if attempt > 0 && areStored(r.Answers, answers) {
			return nil // by an earlier attempt
		}
		return r.Reply(answers, r.now)
	})
}

// areStored reports whether exactly these answers were given.
func areStored(given, answers []runs.Reply) bool {
	for _, a := range answers {
		if !slices.ContainsFunc(given, func(g runs.Reply) bool {
			return g.To == a.To && g.By == a.By && g.JSON == a.JSON && bytes.Equal(g.Data, a.Data)
		}) {
			return false
		}
	}
	return true
}

// Stop asks the holder of a run to stop it, and pauses it if no process holds it.
func (s *Store) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	var no int64
	err := s.transition(ctx, "stop", id, func(r *row, _ int) error {
		no = r.no
		return r.Stop(how, s.retention, r.now)
	})
	if err != nil {
		return err
	}
	s.stops.Look(ctx, no)
	if s.announceStop != nil {
		s.announceStop(no)
	}
	return nil
}

// Continue makes a run that is paused ready, or lets it wait on if its questions have no answers.
func (s *Store) Continue(ctx context.Context, id string) error {
	return s.transition(ctx, "continue", id, func(r *row, attempt int) error {
		if attempt > 0 && r.Run.Status == runs.Waiting {
			return nil // an earlier attempt did it
		}
		return r.Continue(r.now)
	})
}
