package nats

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// lease is a run that this process holds.
type lease struct {
	*storekit.Lease
	store *Store
	// taker names the write that took the lease: a server that lost its last messages may hand out a token again.
	taker uint64

	// turn is full while a goroutine writes: it guards the fields below.
	turn chan struct{}
	// known is the run as this process wrote it last, nil if another process may have written since.
	known *state
	// doubtful is the record of an append that failed without an answer. It may arrive later, as long as no other message
	// does before.
	doubtful *step
	// stop is the last request to stop that was delivered.
	stop *runs.StopRequest
}

func (s *Store) newLease(st *state, before runs.Info, isNew bool) *lease {
	return &lease{Lease: storekit.NewLease(&st.Row, before, isNew, s), store: s, taker: st.Taker,
		turn: make(chan struct{}, 1), known: st, stop: st.Row.Stopping}
}

// begin waits for the turn of who writes.
func (l *lease) begin(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// AppendRecord adds a record: one message.
func (l *lease) AppendRecord(ctx context.Context, id string, record []byte) error {
	const doing = "append to the journal of"
	if err := l.Check(doing, id, record); err != nil {
		return err
	}
	end, err := l.begin(ctx)
	if err == nil {
		defer end()
		err = l.store.retry(ctx, func(ctx context.Context) error { return l.append(ctx, record) })
	}
	return storekit.FailedOnce(doing, id, err)
}

// append makes an attempt to append a record.
func (l *lease) append(ctx context.Context, record []byte) error {
	st, err := l.current(ctx)
	if err != nil {
		return err
	}
	if d := l.doubtful; d != nil && st.Last.N == d.N && st.Last.Token == l.Token() && st.Last.Sum == d.Sum {
		l.doubtful = nil
		if d.Sum == sha256.Sum256(record) {
			return nil // it has arrived
		}
	}
	now, err := l.store.now(ctx, st)
	if err != nil {
		return err
	}
	r, m, err := l.store.stepMessage(ctx, st, l.Token(), record)
	if err != nil {
		return err
	}
	l.store.fence(m, st)
	seq, err := l.store.wire.publish(ctx, m)
	switch {
	case err == nil:
		st.added(r, now)
		st.version, st.fresh, l.doubtful = seq, nil, nil
		return nil
	case isUnclear(err):
		l.doubtful = &r
	default:
		l.store.forget(st.hash, st.fresh...)
	}
	st.fresh, l.known = nil, nil
	return err
}

// current is the run as it is, and that this process holds it.
func (l *lease) current(ctx context.Context) (*state, error) {
	st := l.known
	if st == nil {
		var err error
		if st, err = l.store.read(ctx, l.ID()); err != nil {
			return nil, err
		}
	}
	if !l.isHeldBy(st) {
		return nil, l.Lost()
	}
	l.noteStop(st)
	l.known = st
	return st, nil
}

// isHeldBy reports whether the lease counts for a run as it is.
func (l *lease) isHeldBy(st *state) bool {
	return st.IsRun && st.Row.Holds(l.Token()) && st.Taker == l.taker
}

// noteStop delivers a request to stop that is new.
func (l *lease) noteStop(st *state) {
	stop := st.Row.Stopping
	if stop == nil || l.stop != nil && *l.stop == *stop {
		return
	}
	l.stop = stop
	l.Deliver(*stop)
}

// write changes the run while the lease counts.
func (l *lease) write(ctx context.Context, doing, id string, value []byte,
	do func(ctx context.Context, c *change, st *state) error,
) error {
	if err := l.Check(doing, id, value); err != nil {
		return err
	}
	end, err := l.begin(ctx)
	if err != nil {
		return storekit.FailedOnce(doing, id, err)
	}
	defer end()
	known := l.known
	l.known = nil
	after, err := l.store.change(ctx, doing, id, known, func(ctx context.Context, c *change, st *state) error {
		if !l.isHeldBy(st) {
			return l.Lost()
		}
		l.noteStop(st)
		c.put(st)
		return do(ctx, c, st)
	})
	if err == nil {
		l.known = after
	}
	return err
}

// Renew makes the lease count for its TTL from now on.
func (l *lease) Renew(ctx context.Context) error {
	return l.write(ctx, "renew", l.ID(), nil, func(_ context.Context, c *change, st *state) error {
		st.Row.Renew(c.now)
		return nil
	})
}

func (l *lease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.write(ctx, "set", id, checkPoint, func(ctx context.Context, c *change, st *state) error {
		st.Row.Renew(c.now)
		return l.store.setSaved(ctx, st, storekit.Owned(checkPoint))
	})
}

func (l *lease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, nil, func(ctx context.Context, _ *change, st *state) error {
		return l.store.setSaved(ctx, st, nil)
	})
}

func (l *lease) RemoveRecords(ctx context.Context, id string) error {
	return l.write(ctx, "remove the journal of", id, nil, func(_ context.Context, _ *change, st *state) error {
		st.dropSteps()
		return nil
	})
}

func (l *lease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	err = l.store.retry(ctx, func(ctx context.Context) error {
		st, err := l.store.read(ctx, l.ID())
		switch {
		case err != nil:
			return err
		case !l.isHeldBy(st):
			return l.Lost()
		}
		answers = storekit.OwnedAnswers(st.Row.Answers)
		return nil
	})
	return answers, storekit.FailedOnce("read the answers of", l.ID(), err)
}

// Settle saves the outcome of the run and gives the lease back. Children and the answer to the parent are written in
// the same step.
func (l *lease) Settle(ctx context.Context, end runs.Settlement) error {
	if err := storekit.CheckSettlement(l.ID(), end); err != nil {
		return err
	}
	err := l.write(ctx, "settle", l.ID(), nil, func(ctx context.Context, c *change, st *state) error {
		parent, answer, hasAnswer := st.Row.ParentAnswer(end)
		result := len(st.Row.Result)
		if err := st.Row.Settle(end, l.store.retention, c.now); err != nil || end.Status == "" {
			return err
		}
		st.Row.Run.Bytes += int64(len(st.Row.Result) - result)
		if end.DropRecords {
			st.dropSteps()
		}
		if end.Checkpoint != nil || end.Status == runs.Done {
			saved := end.Checkpoint
			if end.Status == runs.Done {
				saved = nil
			} else {
				saved = storekit.Owned(saved)
			}
			if err := l.store.setSaved(ctx, st, saved); err != nil {
				return err
			}
		}
		if err := c.children(ctx, end.Children); err != nil || !hasAnswer {
			return err
		}
		return c.answer(ctx, parent, answer)
	})
	if err == nil || errors.Is(err, runs.ErrLeaseLost) {
		l.Abandon()
	}
	return err
}
