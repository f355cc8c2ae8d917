package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// lease is a run that this process holds.
type lease struct {
	store  *Store
	id     string
	token  uint64
	ttl    time.Duration
	before checkpoint.RunInfo
	stops  chan checkpoint.StopRequest

	mu sync.Mutex // guards the fields below, and is held while a record is appended
	// life is how many records the lease has appended, and stop the last request to stop, as it was read.
	life int64
	stop string
}

func (l *lease) Token() uint64                        { return l.token }
func (l *lease) TTL() time.Duration                   { return l.ttl }
func (l *lease) Info() checkpoint.RunInfo             { return l.before }
func (l *lease) Stops() <-chan checkpoint.StopRequest { return l.stops }

func (l *lease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if err := storekit.CheckID(l.id, id); err != nil {
		return nil, false, err
	}
	return l.store.Get(ctx, id)
}

func (l *lease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	if err := storekit.CheckID(l.id, id); err != nil {
		return nil, err
	}
	return l.store.ReadRecords(ctx, id)
}

// AppendRecord adds a record, in one round trip.
func (l *lease) AppendRecord(ctx context.Context, id string, record []byte) error {
	const doing = "append to the journal of"
	if err := storekit.CheckID(l.id, id); err != nil {
		return err
	}
	if err := l.store.check(ctx, doing, id, record); err != nil {
		return storekit.Failed(doing, id, err)
	}
	return l.sign(ctx, doing, "1", record)
}

// Renew makes the lease count for its TTL from now on.
func (l *lease) Renew(ctx context.Context) error { return l.sign(ctx, "renew", "0", nil) }

func (l *lease) sign(ctx context.Context, doing, appends string, record []byte) error {
	if err := ctx.Err(); err != nil {
		return storekit.Failed(doing, l.id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.store
	if record == nil {
		record = []byte{}
	}
	answer, err := sign.Run(ctx, s.client, []string{s.runKey(l.id), s.stepsKey(l.id)},
		l.token, l.life, l.ttl.Microseconds(), appends, record).StringSlice()
	if err != nil {
		return storekit.Failed(doing, l.id, err)
	}
	switch answer[0] {
	case "lost":
		return storekit.Lost(l.id, l.token)
	case "gap":
		return storekit.Failed(doing, l.id, fmt.Errorf("the lease has appended %d records, and the server knows of another number", l.life))
	}
	if appends == "1" {
		l.life++
	}
	return l.noteStop(answer[1])
}

// noteStop delivers a request to stop that is new. mu is locked.
func (l *lease) noteStop(text string) error {
	if text == l.stop {
		return nil
	}
	l.stop = text
	stop, err := readStop(text)
	if err != nil || stop == nil {
		return err
	}
	select {
	case <-l.stops: // the last one counts
	default:
	}
	l.stops <- *stop
	return nil
}

// write changes the run while the lease counts.
func (l *lease) write(ctx context.Context, doing, id string, value []byte, do func(r *row, now time.Time) (change, error)) error {
	err := storekit.CheckID(l.id, id)
	if err == nil {
		err = storekit.CheckSize(doing, id, value)
	}
	if err != nil {
		return err
	}
	return l.store.update(ctx, doing, id, func(r *row, now time.Time) (*row, change, error) {
		if r == nil || !r.Holds(l.token) {
			return nil, change{}, storekit.Lost(id, l.token)
		}
		c, err := do(r, now)
		return r, c, err
	})
}

func (l *lease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.write(ctx, "set", id, checkPoint, func(r *row, now time.Time) (change, error) {
		before, _, err := l.store.Get(ctx, id)
		r.Run.Bytes += int64(len(checkPoint) - len(before))
		r.Renew(now)
		return change{setCheckpoint: storekit.Owned(checkPoint)}, err
	})
}

func (l *lease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, nil, func(r *row, _ time.Time) (change, error) {
		before, _, err := l.store.Get(ctx, id)
		r.Run.Bytes -= int64(len(before))
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
	records, err := l.store.ReadRecords(ctx, l.id)
	for _, record := range records {
		r.Run.Bytes -= int64(len(record))
	}
	r.Run.Steps = 0
	return err
}

func (l *lease) Answers(ctx context.Context) (answers []checkpoint.Answer, err error) {
	r, _, err := l.store.read(ctx, l.id)
	switch {
	case err != nil:
		return nil, storekit.Failed("read the answers of", l.id, err)
	case r == nil || !r.Holds(l.token):
		return nil, storekit.Lost(l.id, l.token)
	}
	return storekit.OwnedAnswers(r.Row.Answers), nil
}

// Settle says what has become of the run and gives the lease back.
func (l *lease) Settle(ctx context.Context, end checkpoint.Settlement) error {
	if err := storekit.CheckSettlement(l.id, end); err != nil {
		return err
	}
	return l.write(ctx, "settle", l.id, nil, func(r *row, now time.Time) (c change, err error) {
		if r.life > 0 {
			r.TakenSteps = -1 // so that giving it back leaves it running
		}
		parent, answer, answers := r.ParentAnswer(end)
		result := len(r.Result)
		if err := r.Row.Settle(end, l.store.retention, now); err != nil || end.Status == "" {
			return c, err
		}
		r.Run.Bytes += int64(len(r.Result) - result)
		c = change{dropSteps: end.DropRecords, setCheckpoint: end.Checkpoint, dropped: end.Status == checkpoint.Done}
		if c.setCheckpoint != nil || c.dropped {
			before, _, err := l.store.Get(ctx, l.id)
			if err != nil {
				return c, err
			}
			r.Run.Bytes += int64(len(end.Checkpoint) - len(before))
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
}
