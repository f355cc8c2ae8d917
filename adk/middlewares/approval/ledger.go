package approval

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// Ledger remembers which decisions were used, so that none is used twice: a saved run can be resumed again and again.
// It must be safe for concurrent use.
type Ledger interface {
	// Use reports whether the hash of a decision is used for the first time. It may forget it after until.
	Use(ctx context.Context, hash string, until time.Time) (first bool, err error)
}

// CallLedger is a [Ledger] that knows which call has used a decision. In a run that is held by a lease, so that no other
// process continues it, that call may use it again: its process has died, or failed, before the call had a result.
type CallLedger interface {
	Ledger
	// UseFor is Use for the call with an idempotency key. It is true also where the same call has used the decision before.
	UseFor(ctx context.Context, hash, call string, until time.Time) (ok bool, err error)
}

// StoreLedger keeps decisions in a store that knows about runs, so that all processes which share the store agree on which
// ones are used. It is a [CallLedger].
func StoreLedger(store runs.Leaser) Ledger { return storeLedger{store} }

type storeLedger struct{ store runs.Leaser }

// callTag is the tag of a used decision that names the call.
const callTag = "call"

// Use makes a run that is done for each decision. A process that makes it at the same time, or that died while it made
// it, has used the decision, too: then it counts for neither.
func (l storeLedger) Use(ctx context.Context, hash string, until time.Time) (bool, error) {
	return l.UseFor(ctx, hash, "", until)
}

// UseFor implements CallLedger.
func (l storeLedger) UseFor(ctx context.Context, hash, call string, until time.Time) (bool, error) {
	id := "approval/" + hash
	made := &runs.Spec{Agent: "approval"}
	if call != "" {
		made.Tags = map[string]string{callTag: call}
	}
	lease, err := l.store.Acquire(ctx, id, runs.LeaseRequest{Owner: "approval", Create: made})
	if errors.Is(err, runs.ErrBusy) {
		return l.isOf(ctx, id, call)
	}
	if err != nil {
		return false, err
	}
	if before := lease.Info(); before.Status != "" {
		return call != "" && before.Tags[callTag] == call, lease.Settle(ctx, runs.Settlement{})
	}
	keep := max(time.Until(until), time.Minute)
	return true, lease.Settle(ctx, runs.Settlement{Status: runs.Done, Keep: keep})
}

// isOf reports whether a decision that is in use is used by a call.
func (l storeLedger) isOf(ctx context.Context, id, call string) (bool, error) {
	runStore, ok := l.store.(runs.Inspector)
	if !ok || call == "" {
		return false, nil
	}
	info, _, err := runStore.Inspect(ctx, id)
	return info.Tags[callTag] == call, err
}

// memoryLedger is a ledger for one process.
type memoryLedger struct {
	mu   sync.Mutex // guards the fields below
	used map[string]usedDecision
	next time.Time // when to look for what can be forgotten
}

type usedDecision struct {
	until time.Time
	call  string
}

// NewMemoryLedger makes a ledger for one process. Middlewares that may resume each other's runs should share one. It is a
// [CallLedger].
func NewMemoryLedger() Ledger { return &memoryLedger{used: map[string]usedDecision{}} }

func (l *memoryLedger) Use(ctx context.Context, hash string, until time.Time) (bool, error) {
	return l.UseFor(ctx, hash, "", until)
}

// UseFor implements CallLedger.
func (l *memoryLedger) UseFor(_ context.Context, hash, call string, until time.Time) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.After(l.next) {
		for h, u := range l.used {
			if now.After(u.until) {
				delete(l.used, h)
			}
		}
		l.next = now.Add(time.Minute)
	}
	if before, again := l.used[hash]; again {
		return call != "" && before.call == call, nil
	}
	l.used[hash] = usedDecision{until, call}
	return true, nil
}
