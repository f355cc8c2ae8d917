package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Submit makes a run that is ready.
func (s *Store) Submit(ctx context.Context, id string, run checkpoint.NewRun) (info checkpoint.RunInfo, err error) {
	nonce := rand.Int64()
	exists := false
	err = s.change(ctx, "submit", id, func(ctx context.Context, t *transaction) (err error) {
		info, exists, err = t.submit(ctx, id, run, nonce)
		return err
	})
	if err == nil && exists {
		err = &checkpoint.RunError{Err: checkpoint.ErrRunExists, Info: info}
	}
	return info, err
}

// SubmitTx is Submit in a transaction of the caller, so that the run exists if, and only if, what else the transaction
// does is committed. The transaction must be one of the same database. An error leaves it to be rolled back, except one
// that matches checkpoint.ErrRunExists. Workers find the run when they look the next time: they are not woken.
func (s *Store) SubmitTx(ctx context.Context, tx *sql.Tx, id string, run checkpoint.NewRun) (
	checkpoint.RunInfo, error) {
	t := &transaction{Store: s, tx: tx}
	info, exists, err := t.submit(ctx, id, run, 0)
	if err == nil && exists {
		err = &checkpoint.RunError{Err: checkpoint.ErrRunExists, Info: info}
	}
	return info, failedOnce("submit", id, err)
}

// submit makes a run, or says that there is one, unless an earlier attempt made it.
func (t *transaction) submit(ctx context.Context, id string, run checkpoint.NewRun, nonce int64) (
	info checkpoint.RunInfo, exists bool, err error) {
	r, err := t.lock(ctx, encode(id))
	if err != nil {
		return info, false, err
	}
	if r == nil || r.status == "" {
		r, err = t.make(ctx, id, run, nonce)
		if err == nil {
			t.woke(r)
			err = t.save(ctx, r)
		}
		if !errors.Is(err, errMadeMeanwhile) {
			return infoOf(r, err), false, err
		}
	}
	waiting, err := t.waiting(ctx, r)
	if err != nil {
		return info, false, err
	}
	return r.info(waiting), t.attempt == 0 || nonce == 0 || r.nonce != nonce, nil
}

func infoOf(r *row, err error) checkpoint.RunInfo {
	if err != nil {
		return checkpoint.RunInfo{}
	}
	return r.info(nil)
}

// errMadeMeanwhile says that somebody else made a run since its ID was found unused.
var errMadeMeanwhile = errors.New("the run was made meanwhile")

// make makes a run under an ID that has none. What was written under it without a lease is the run's. The row has to be
// saved. If somebody else has made one meanwhile, it returns that and errMadeMeanwhile.
func (t *transaction) make(ctx context.Context, id string, run checkpoint.NewRun, nonce int64) (*row, error) {
	for _, record := range run.Records {
		if err := t.checkSize("submit", id, record); err != nil {
			return nil, err
		}
	}
	if run.Key != "" {
		if err := t.lockKey(ctx, encode(run.Key)); err != nil {
			return nil, err
		}
	}
	r, err := t.lockOrMake(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.status != "" {
		return r, errMadeMeanwhile
	}
	born, err := t.next(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.become(id, born, &run); err != nil {
		return nil, err
	}
	r.nonce = nonce
	for name, value := range r.details.Tags {
		_, err := t.exec(ctx, `INSERT INTO {tags} (run, name, value, tenant) VALUES ($1, $2, $3, $4)`,
			r.no, name, value, t.tenant)
		if err != nil {
			return nil, err
		}
	}
	return r, t.append(ctx, r, run.Records...)
}

// Answer answers questions of a run.
func (s *Store) Answer(ctx context.Context, id string, answers ...checkpoint.Answer) error {
	for _, a := range answers {
		if err := s.checkSize("answer", id, a.Data); err != nil {
			return err
		}
	}
	return s.change(ctx, "answer", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockRun(ctx, id)
		if err != nil {
			return err
		}
		refused, err := t.answer(ctx, r, answers)
		if err == nil {
			err = refused
		}
		if err != nil {
			return err
		}
		return t.save(ctx, r)
	})
}

// answer takes all answers, or says why none is. The row has to be saved. (C7)
func (t *transaction) answer(ctx context.Context, r *row, answers []checkpoint.Answer) (refused, err error) {
	questions, err := t.questions(ctx, r)
	if err != nil {
		return nil, err
	}
	waiting := pointsOf(questions)
	if t.attempt > 0 && areStored(questions, answers) {
		return nil, nil // by an earlier attempt
	}
	for _, a := range answers {
		i := slices.IndexFunc(waiting, func(p checkpoint.WaitPoint) bool { return p.ID == a.Point })
		switch isWaiting := r.status == checkpoint.Waiting || r.status == checkpoint.Paused; {
		case i >= 0 && waiting[i].Answered && !isWaiting:
			return r.is(fmt.Errorf("%w; %w", checkpoint.ErrAnswered, checkpoint.ErrNotWaiting), waiting), nil
		case i >= 0 && waiting[i].Answered:
			return r.is(checkpoint.ErrAnswered, waiting), nil
		case i < 0 || !isWaiting:
			return r.is(checkpoint.ErrNotWaiting, waiting), nil
		}
		waiting[i].Answered = true
		isJSON := 0
		if a.JSON {
			isJSON = 1
		}
		_, err := t.exec(ctx, `UPDATE {questions} SET answered = 1, answer = $3, answer_by = $4, answer_json = $5,
			answered_at = $6 WHERE run = $1 AND ord = $2`, r.no, questions[i].ord, a.Data, escape(a.By), isJSON, r.now)
		if err != nil {
			return nil, err
		}
	}
	r.updated = r.now
	if r.status == checkpoint.Waiting && isAnswered(waiting) { // also while somebody looks at it: it is due once he is gone
		r.wakeUp()
		t.woke(r)
	}
	return nil, nil
}

// areStored reports whether the questions have exactly these answers.
func areStored(questions []question, answers []checkpoint.Answer) bool {
	for _, a := range answers {
		if !slices.ContainsFunc(questions, func(q question) bool {
			return q.answer != nil && q.ID == a.Point && q.answer.By == a.By && q.answer.JSON == a.JSON &&
				string(q.answer.Data) == string(a.Data)
		}) {
			return false
		}
	}
	return true
}

// Stop asks the holder of a run to stop it, and pauses it if nobody holds it.
func (s *Store) Stop(ctx context.Context, id string, how checkpoint.StopRequest) error {
	return s.change(ctx, "stop", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockRun(ctx, id)
		if err != nil {
			return err
		}
		waiting, err := t.waiting(ctx, r)
		if err != nil {
			return err
		}
		if !r.stopBy(how, t.retention) {
			return r.is(checkpoint.ErrRunEnded, waiting)
		}
		if err := t.save(ctx, r); err != nil || !how.Children {
			return err
		}
		return t.stopChildren(ctx, r, how, map[int64]bool{r.no: true})
	})
}

// stopBy asks the holder to stop, or pauses a run that nobody holds: a lease that has ended is taken away, as its
// holder may live. It returns false if the run has ended.
func (r *row) stopBy(how checkpoint.StopRequest, kept checkpoint.Retention) bool {
	switch {
	case r.status == checkpoint.Done || r.status == checkpoint.Failed:
		return false
	case r.isHeld():
		r.stop = &how
	case r.status != checkpoint.Paused:
		r.free()
		r.status, r.err, r.updated = checkpoint.Paused, escape(how.Reason), r.now
		r.keep(kept.For(checkpoint.Paused))
	}
	return true
}

// stopChildren stops the runs whose parent a run is, and theirs.
func (t *transaction) stopChildren(ctx context.Context, r *row, how checkpoint.StopRequest, seen map[int64]bool) error {
	children, err := t.childrenOf(ctx, r)
	if err != nil {
		return err
	}
	for _, no := range children {
		if seen[no] {
			continue
		}
		seen[no] = true
		child, err := t.lockNo(ctx, no)
		if err != nil {
			return err
		}
		if child == nil || !child.stopBy(how, t.retention) {
			continue
		}
		if err := t.save(ctx, child); err != nil {
			return err
		}
		if err := t.stopChildren(ctx, child, how, seen); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) childrenOf(ctx context.Context, r *row) (children []int64, err error) {
	rows, err := t.tx.QueryContext(ctx, t.sql(`SELECT no FROM {runs} WHERE tenant = $1 AND parent = $2 AND parent <> ''
		AND status IN ('ready', 'running', 'waiting') ORDER BY no`), t.tenant, r.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var no int64
		if err := rows.Scan(&no); err != nil {
			return nil, err
		}
		children = append(children, no)
	}
	return children, rows.Err()
}

// Continue makes a run that is paused ready, or lets it wait on if its questions have no answers.
func (s *Store) Continue(ctx context.Context, id string) error {
	return s.change(ctx, "continue", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockRun(ctx, id)
		if err != nil {
			return err
		}
		waiting, err := t.waiting(ctx, r)
		if err != nil {
			return err
		}
		switch r.status {
		case checkpoint.Ready, checkpoint.Running:
			return nil
		case checkpoint.Waiting:
			if t.attempt > 0 {
				return nil
			}
			return r.is(checkpoint.ErrNotWaiting, waiting)
		case checkpoint.Paused:
		default:
			return r.is(checkpoint.ErrRunEnded, waiting)
		}
		if len(waiting) > 0 && !isAnswered(waiting) {
			r.status, r.updated, r.expires = checkpoint.Waiting, r.now, 0
		} else {
			r.wakeUp()
			t.woke(r)
		}
		return t.save(ctx, r)
	})
}
