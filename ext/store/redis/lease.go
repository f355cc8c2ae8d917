package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// lease is a run that this process holds.
type lease struct {
	*storekit.Lease
	store *Store

	// turn is full while a goroutine appends or renews: it guards the fields below.
	turn chan struct{}
	// life is the number of records that the lease has appended, unless it is unsure: an append failed, and may have been
	// done.
	life   int64
	unsure bool
	// stop is the last request to stop, as it was read.
	stop string
}

// AppendRecord adds a record, in one round trip.
func (l *lease) AppendRecord(ctx context.Context, id string, record []byte) error {
	const doing = "append to the journal of"
	if err := storekit.CheckID(l.ID(), id); err != nil {
		return err
	}
	if err := l.store.check(ctx, doing, id, record); err != nil {
		return storekit.FailedOnce(doing, id, err)
	}
	return l.sign(ctx, doing, "1", record)
}

// Renew makes the lease count for its TTL from now on.
func (l *lease) Renew(ctx context.Context) error { return l.sign(ctx, "renew", "0", nil) }

func (l *lease) sign(ctx context.Context, doing, appends string, record []byte) error {
	if err := ctx.Err(); err != nil {
		return storekit.FailedOnce(doing, l.ID(), err)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return storekit.FailedOnce(doing, l.ID(), ctx.Err())
	}
	if appends == "1" {
		record = storekit.AddSum(record, placeOf(l.ID()), recordKind)
	} else {
		record = []byte{}
	}
	for {
		s := l.store
		keys := []string{s.runKey(l.ID()), s.stepsKey(l.ID()), s.dueKey(), s.expiresKey()}
		answer, err := s.run(ctx, sign, keys,
			l.Token(), l.life, l.TTL().Microseconds(), appends, record, l.ID()).StringSlice()
		if err != nil {
			l.unsure = l.unsure || appends == "1"
			return storekit.FailedOnce(doing, l.ID(), err)
		}
		switch answer[0] {
		case "lost":
			return l.Lost()
		case "gap":
			if !l.unsure || answer[1] != strconv.FormatInt(l.life+1, 10) {
				return storekit.FailedOnce(doing, l.ID(),
					fmt.Errorf("the lease has appended %d records, and the server knows of %s", l.life, answer[1]))
			}
			l.life, l.unsure = l.life+1, false // the append that failed was done, of another record
			continue
		}
		if appends == "1" {
			l.life, l.unsure = l.life+1, false
		}
		return l.noteStop(answer[1])
	}
}

// noteStop delivers a request to stop that is new. The caller has the turn.
func (l *lease) noteStop(text string) error {
	if text == l.stop {
		return nil
	}
	l.stop = text
	stop, err := readStop(text)
	if err != nil || stop == nil {
		return err
	}
	l.Deliver(*stop)
	return nil
}

// write changes the run while the lease counts.
func (l *lease) write(ctx context.Context, doing, id string, value []byte, do func(r *row, now time.Time) (change, error)) error {
	if err := l.Check(doing, id, value); err != nil {
		return err
	}
	return l.store.update(ctx, doing, id, func(r *row, now time.Time) (*row, change, error) {
		if r == nil || !r.Holds(l.Token()) {
			return nil, change{}, l.Lost()
		}
		c, err := do(r, now)
		return r, c, err
	})
}

func (l *lease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.write(ctx, "set", id, checkPoint, func(r *row, now time.Time) (change, error) {
		before, err := l.store.checkpointSize(ctx, id)
		r.Run.Bytes += int64(len(checkPoint)) - before
		r.Renew(now)
		return change{setCheckpoint: storekit.Owned(checkPoint)}, err
	})
}

func (l *lease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, nil, func(r *row, _ time.Time) (change, error) {
		before, err := l.store.checkpointSize(ctx, id)
		r.Run.Bytes -= before
		return change{dropped: true}, err
	})
}

func (l *lease) RemoveRecords(ctx context.Context, id string) error {
	return l.write(ctx, "remove the journal of", id, nil, func(r *row, _ time.Time) (change, error) {
		return change{dropSteps: true}, l.forget(ctx, r)
	})
}

// forget takes the records out of the books.
func (l *lease) forget(ctx context.Context, r *row) error {
	_, size, err := l.store.recordsSize(ctx, l.ID())
	r.Run.Bytes -= size
	r.Run.Steps = 0
	return err
}

func (l *lease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	r, _, err := l.store.read(ctx, l.ID())
	switch {
	case err != nil:
		return nil, storekit.FailedOnce("read the answers of", l.ID(), err)
	case r == nil || !r.Holds(l.Token()):
		return nil, l.Lost()
	}
	return storekit.OwnedAnswers(r.Row.Answers), nil
}

// Settle saves the outcome of the run and gives the lease back.
func (l *lease) Settle(ctx context.Context, end runs.Settlement) error {
	if err := storekit.CheckSettlement(l.ID(), end); err != nil {
		return err
	}
	err := l.write(ctx, "settle", l.ID(), nil, func(r *row, now time.Time) (c change, err error) {
		if r.life > 0 {
			r.TakenSteps = -1 // so that giving it back leaves it running
		}
		parent, answer, answers := r.ParentAnswer(end)
		result := len(r.Result)
		if err := r.Row.Settle(end, l.store.retention, now); err != nil || end.Status == "" {
			return c, err
		}
		r.Run.Bytes += int64(len(r.Result) - result)
		c = change{dropSteps: end.DropRecords, setCheckpoint: end.Checkpoint, dropped: end.Status == runs.Done}
		if c.setCheckpoint != nil || c.dropped {
			before, err := l.store.checkpointSize(ctx, l.ID())
			if err != nil {
				return c, err
			}
			r.Run.Bytes += int64(len(end.Checkpoint)) - before
		}
		if end.DropRecords {
			if err := l.forget(ctx, r); err != nil {
				return c, err
			}
		}
		if len(end.Children) > 0 || answers {
			r.Todo = &todo{Children: end.Children}
			if answers {
				r.Todo.Parent, r.Todo.Answer = parent, &answer
			}
		}
		return c, nil
	})
	if err == nil || errors.Is(err, runs.ErrLeaseLost) {
		l.Abandon()
	}
	return err
}
