package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// fileLease is a run of a FileStore that this process holds. It keeps the file of the lease open and locked.
type fileLease struct {
	*storekit.Lease
	store *FileStore
	file  *os.File

	mu sync.Mutex // guards the fields below; taken before the lock of the row
	// running: the row says that the run is running. appends counts records.
	running bool
	appends int
	// seen is the file of the row that was looked at last for a request to stop, and told the last request that was found.
	seen seenFile
	told runs.StopRequest
	over bool
	// settling says that a row was written, or perhaps not, which gives the lease back.
	settling bool
}

// write does something to the run while no one else can take it, if the lease counts, and notes the sign of life. (F3)
func (l *fileLease) write(ctx context.Context, doing, id string, value []byte, do func() error) error {
	if err := l.Check(doing, id, value); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.store.lockRow(ctx, id)
	if err != nil {
		return storekit.Failed(doing, id, err)
	}
	defer unlock()
	if err := l.mayWrite(); err != nil {
		return storekit.FailedOnce(doing, id, err)
	}
	if err := do(); err != nil {
		return err
	}
	if err := l.store.disk.touch(l.store.path(id, leaseFile), time.Now()); err != nil { // others would not see that it lives
		return storekit.Failed(doing, id, err)
	}
	l.lookForStop()
	return nil
}

// mayWrite returns an error if the lease does not count, or if that cannot be found out. The row is locked.
func (l *fileLease) mayWrite() error {
	if l.over {
		return l.Lost()
	}
	if err := l.counts(); err != nil || !l.settling {
		return err
	}
	f, err := l.store.readRow(l.ID())
	if err == nil && (f == nil || !f.Row.Holds(l.Token())) {
		return l.Lost()
	}
	return err
}

// counts returns an error if the file of the lease is not this one any more. That it cannot be read says nothing.
func (l *fileLease) counts() error {
	text, err := os.ReadFile(l.store.path(l.ID(), leaseFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.Lost()
	case err != nil:
		return err
	case len(text) <= 20 || !bytes.Equal(text[:20], leaseText(l.Token())[:20]):
		return l.Lost()
	}
	return nil
}

// Abandon has the store look no longer for requests to stop the run.
func (l *fileLease) Abandon() { l.store.stops.Leave(l.ID(), l) }

// lookForStops looks for requests to stop the runs of leases, and returns those that no longer count. It costs the status of
// two files for each. A lease that writes is passed by: it looks itself.
func lookForStops(_ context.Context, held []*fileLease) (lost []*fileLease) {
	for _, l := range held {
		if !l.mu.TryLock() {
			continue
		}
		if l.over || errors.Is(l.counts(), runs.ErrLeaseLost) {
			lost = append(lost, l)
		} else {
			l.lookForStop()
		}
		l.mu.Unlock()
	}
	return lost
}

// lookForStop finds a request to stop, if the row was changed since it was looked at. The caller has l.mu.
func (l *fileLease) lookForStop() {
	info, err := os.Stat(l.store.path(l.ID(), rowFile))
	if err != nil || l.seen.isStill(info) {
		return
	}
	l.seen = see(info)
	f, err := readRowFile(l.store.path(l.ID(), rowFile))
	if err != nil || f == nil || f.Row.Stopping == nil || *f.Row.Stopping == l.told {
		return
	}
	l.told = *f.Row.Stopping
	l.Deliver(l.told)
}

func (l *fileLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.write(ctx, "set", id, checkPoint, func() error { return l.store.Set(ctx, id, checkPoint) })
}

func (l *fileLease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, nil, func() error { return l.store.Delete(ctx, id) })
}

func (l *fileLease) RemoveRecords(ctx context.Context, id string) error {
	return l.write(ctx, "remove the journal of", id, nil, func() error { return l.store.RemoveRecords(ctx, id) })
}

func (l *fileLease) Renew(ctx context.Context) error {
	return l.write(ctx, "renew", l.ID(), nil, func() error { return nil })
}

// AppendRecord adds a record. It costs what an append without a lease costs, and two small reads.
func (l *fileLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.write(ctx, "append to the journal of", id, record, func() error {
		if !l.running {
			if err := l.setRunning(ctx); err != nil {
				return err
			}
		}
		if err := l.store.AppendRecord(ctx, id, record); err != nil {
			return err
		}
		if l.appends++; l.appends == 2 { // the first one says only that it lives
			_ = l.store.disk.write(l.file, []byte{'p'}, 20)
		}
		return nil
	})
}

// setRunning says that the run is running. The row is locked.
func (l *fileLease) setRunning(ctx context.Context) error {
	f, err := l.store.readRow(l.ID())
	if err != nil || f == nil {
		return storekit.Failed("append to the journal of", l.ID(), err)
	}
	f.Row.Progressed()
	f.Row.Run.Updated, l.running = fileNow(), true
	return storekit.Failed("append to the journal of", l.ID(), l.store.writeRow(ctx, f))
}

func (l *fileLease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	err = l.write(ctx, "read the answers of", l.ID(), nil, func() error {
		f, err := l.store.readRow(l.ID())
		if err == nil && f != nil {
			answers = slices.Clone(f.Row.Answers)
		}
		return storekit.Failed("read the answers of", l.ID(), err)
	})
	return answers, err
}

// Settle sets the state of the run and gives the lease back. The row says it, with all that follows, in one step.
func (l *fileLease) Settle(ctx context.Context, settlement runs.Settlement) error {
	if err := storekit.CheckSettlement(l.ID(), settlement); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return l.Lost()
	}
	err := l.store.withRow(ctx, "settle", l.ID(), func(f *fileRow) (*fileRow, error) {
		if l.settling && f != nil && f.Row.Run.Token == l.Token() && f.Row.Run.Owner == "" {
			return nil, nil // an earlier attempt did it
		}
		if f == nil || !f.Row.Holds(l.Token()) {
			return nil, l.Lost()
		}
		if err := l.counts(); err != nil {
			return nil, storekit.FailedOnce("settle", l.ID(), err)
		}
		if l.appends > 0 {
			f.Row.Progressed()
		}
		if err := f.Row.Settle(settlement, l.store.Retention, fileNow()); err != nil {
			return nil, err
		}
		l.settling = true
		if settlement.Status == "" {
			return f, nil
		}
		todo := &rowTodo{Checkpoint: settlement.Checkpoint, HasCheckpoint: settlement.Checkpoint != nil,
			DropRecords: settlement.DropRecords, Children: settlement.Children}
		todo.DropCheckpoint = settlement.Status == runs.Done && !todo.HasCheckpoint
		if parent, answer, ok := f.Row.ParentAnswer(settlement); ok {
			todo.Parent, todo.ParentAnswer = parent, &answer
		}
		f.Todo = todo
		return f, nil
	})
	if err != nil {
		return err
	}
	l.over = true
	l.store.stops.Leave(l.ID(), l)
	l.store.open.close(l.ID(), l.file) // the file stays, and counts for no owner: the row has none
	l.store.sweepNow(ctx)
	return nil
}
