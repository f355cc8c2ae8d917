package sqlrun

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Settle sets the state of the run and gives the lease back.
func (l *lease) Settle(ctx context.Context, settlement runs.Settlement) error {
	if err := storekit.CheckSettlement(l.ID(), settlement); err != nil {
		return err
	}
	nonce := rand.Int64()
	err := l.store.change(ctx, "settle", l.ID(), func(ctx context.Context, t *transaction) error {
		r, err := t.lockNo(ctx, l.no)
		if err != nil {
			return err
		}
		if r == nil || !r.Holds(l.Token()) {
			if t.attempt > 0 && r != nil && r.nonce == nonce {
				return nil // an earlier attempt did it
			}
			return l.Lost()
		}
		r.nonce = nonce
		return t.settle(ctx, r, settlement)
	})
	if err == nil || errors.Is(err, runs.ErrLeaseLost) {
		l.Abandon()
	}
	if err == nil {
		l.store.sweepNow(ctx)
	}
	return err
}

func (t *transaction) settle(ctx context.Context, r *row, s runs.Settlement) error {
	parent, answer, answers := r.ParentAnswer(s)
	if err := r.Settle(s, t.retention, r.now); err != nil {
		return err
	}
	if s.Status == "" {
		return t.save(ctx, r)
	}
	if err := t.settleValues(ctx, r, s); err != nil {
		return err
	}
	if err := t.save(ctx, r); err != nil {
		return err
	}
	for _, child := range s.Children {
		if err := t.submitChild(ctx, child); err != nil {
			return err
		}
	}
	if !answers {
		return nil
	}
	return t.answerParent(ctx, parent, answer)
}

// submitChild makes a run that another one waits for. One that exists keeps all but the question that it answers.
func (t *transaction) submitChild(ctx context.Context, child runs.Child) error {
	r, err := t.lock(ctx, child.ID)
	switch {
	case err != nil:
		return err
	case r != nil && r.isRun():
		if r.AskedAgain(child.Run) {
			return t.save(ctx, r)
		}
		return nil
	}
	_, _, err = t.submit(ctx, child.ID, child.Run, 0)
	return err
}

// settleValues changes checkpoint, result and journal as the settlement says.
func (t *transaction) settleValues(ctx context.Context, r *row, s runs.Settlement) (err error) {
	switch {
	case s.Checkpoint != nil:
		err = t.set(ctx, r, checkpointValue, s.Checkpoint)
	case s.Status == runs.Done:
		err = t.unset(ctx, r, checkpointValue)
	}
	if err != nil {
		return err
	}
	if s.Status == runs.Done {
		err = t.set(ctx, r, resultValue, r.Row.Result)
	} else {
		err = t.unset(ctx, r, resultValue)
	}
	if err == nil && s.DropRecords {
		err = t.dropRecords(ctx, r)
	}
	return err
}

// answerParent gives the parent of a run that has ended its answer. One that does not wait for it any more gets none.
func (t *transaction) answerParent(ctx context.Context, id string, answer runs.Reply) error {
	r, err := t.lock(ctx, id)
	if err != nil || r == nil || r.Reply([]runs.Reply{answer}, r.now) != nil {
		return err
	}
	return t.save(ctx, r)
}
