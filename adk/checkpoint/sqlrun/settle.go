package sqlrun

import (
	"context"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Settle says what has become of the run and gives the lease back.
func (l *lease) Settle(ctx context.Context, settlement checkpoint.Settlement) error {
	for _, value := range [][]byte{settlement.Checkpoint, settlement.Result, settlement.Answer} {
		if err := l.store.checkSize("settle", l.id, value); err != nil {
			return err
		}
	}
	return l.store.change(ctx, "settle", l.id, func(ctx context.Context, t *transaction) error {
		r, err := t.lockNo(ctx, l.no)
		if err != nil {
			return err
		}
		if r == nil || !r.counts(l.token) {
			if t.attempt > 0 && r != nil && r.token == int64(l.token) && r.settled(&settlement) {
				return nil // an earlier attempt did it
			}
			return l.lost()
		}
		if settlement.Status == "" {
			r.release(micros(settlement.WakeAt), t.retention)
			t.woke(r)
			return t.save(ctx, r)
		}
		return t.settle(ctx, r, &settlement)
	})
}

// settled reports whether the lease was given back as a settlement says. Removing a run takes its row, and stopping it
// pauses it.
func (r *row) settled(s *checkpoint.Settlement) bool {
	since := s.Status == checkpoint.Waiting && r.status == checkpoint.Ready || r.status == checkpoint.Paused
	return r.owner == "" && (s.Status == "" || r.status == s.Status || since)
}

func (t *transaction) settle(ctx context.Context, r *row, s *checkpoint.Settlement) error {
	if err := r.settle(s, t.retention); err != nil {
		return err
	}
	var waiting []checkpoint.WaitPoint
	if s.Status == checkpoint.Waiting {
		waiting = s.Waiting
	}
	if err := t.ask(ctx, r, waiting); err != nil {
		return err
	}
	if err := t.settleValues(ctx, r, s); err != nil {
		return err
	}
	t.woke(r)
	switch s.Status {
	case checkpoint.Done, checkpoint.Failed, checkpoint.Paused:
		if r.serial != "" {
			t.woken = append(t.woken, checkpoint.Due{}) // the next run of the key is due; its queue is not known
		}
	}
	if err := t.save(ctx, r); err != nil {
		return err
	}
	for _, child := range s.Children {
		if _, _, err := t.submit(ctx, child.ID, child.Run, 0); err != nil {
			return err
		}
	}
	return t.answerParent(ctx, r, s)
}

// settleValues changes checkpoint, result and journal as the settlement says.
func (t *transaction) settleValues(ctx context.Context, r *row, s *checkpoint.Settlement) (err error) {
	switch {
	case s.Checkpoint != nil:
		err = t.set(ctx, r, checkpointValue, s.Checkpoint)
	case s.Status == checkpoint.Done:
		err = t.unset(ctx, r, checkpointValue)
	}
	if err != nil {
		return err
	}
	if s.Status == checkpoint.Done {
		err = t.set(ctx, r, resultValue, s.Result)
	} else {
		err = t.unset(ctx, r, resultValue)
	}
	if err == nil && s.DropRecords {
		err = t.dropRecords(ctx, r)
	}
	return err
}

// answerParent gives the parent of a run that has ended its answer. One that does not wait for it any more gets none.
func (t *transaction) answerParent(ctx context.Context, r *row, s *checkpoint.Settlement) error {
	if r.parent == "" || r.details.Point == "" || s.Status != checkpoint.Done && s.Status != checkpoint.Failed {
		return nil
	}
	parent, err := t.lock(ctx, r.parent)
	if err != nil || parent == nil {
		return err
	}
	answer := checkpoint.Answer{Point: unescape(r.details.Point), Data: s.Answer, By: "run " + r.name()}
	refused, err := t.answer(ctx, parent, []checkpoint.Answer{answer})
	if err != nil || refused != nil {
		return err
	}
	return t.save(ctx, parent)
}
