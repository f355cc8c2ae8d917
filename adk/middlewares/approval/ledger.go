package approval

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Ledger remembers which decisions were used, so that none is used twice: a saved run can be resumed again and again.
// It must be safe for concurrent use.
type Ledger interface {
	// Use reports whether the hash of a decision is used for the first time. It may forget it after until.
	Use(ctx context.Context, hash string, until time.Time) (first bool, err error)
}

// StoreLedger keeps decisions in a store that knows about runs, so that all processes which share the store agree on which
// ones are used.
func StoreLedger(store checkpoint.Leaser) Ledger { return storeLedger{store} }

type storeLedger struct{ store checkpoint.Leaser }

// Use makes a run that is done for each decision. Somebody who makes it at the same time, or whose process died while it
// made it, has used the decision, too: then it counts for nobody.
func (l storeLedger) Use(ctx context.Context, hash string, until time.Time) (bool, error) {
	lease, err := l.store.Acquire(ctx, "approval/"+hash, checkpoint.LeaseRequest{Owner: "approval", Create: &checkpoint.NewRun{Agent: "approval"}})
	if errors.Is(err, checkpoint.ErrRunBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if lease.Info().Status != "" {
		return false, lease.Settle(ctx, checkpoint.Settlement{})
	}
	keep := max(time.Until(until), time.Minute)
	return true, lease.Settle(ctx, checkpoint.Settlement{Status: checkpoint.Done, Keep: keep})
}

// memoryLedger is a ledger for one process.
type memoryLedger struct {
	mu   sync.Mutex
	used map[string]time.Time
	next time.Time // when to look for what can be forgotten
}

// NewMemoryLedger makes a ledger for one process. Middlewares that may resume each other's runs should share one.
func NewMemoryLedger() Ledger { return &memoryLedger{used: map[string]time.Time{}} }

func (l *memoryLedger) Use(_ context.Context, hash string, until time.Time) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.After(l.next) {
		for h, u := range l.used {
			if now.After(u) {
				delete(l.used, h)
			}
		}
		l.next = now.Add(time.Minute)
	}
	if _, again := l.used[hash]; again {
		return false, nil
	}
	l.used[hash] = until
	return true, nil
}
