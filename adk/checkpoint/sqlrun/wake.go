package sqlrun

import (
	"context"
	"slices"
	"sync"

	"github.com/weftgo/weft/runs"
)

// sleepers are the callers that wait for runs to become due.
type sleepers struct {
	mu  sync.Mutex // mu guards all; no other lock is taken while it is held
	all map[*sleeper]struct{}
}

type sleeper struct {
	due  runs.Due
	woke chan struct{}
}

// Wake returns a channel that receives when runs that a query finds may have become due in this process, and wherever
// the store hears of it. It may receive for nothing, and miss some: who waits looks now and then anyway. Signals that
// are not received become one. It ends with the context, and is not closed.
func (s *Store) Wake(ctx context.Context, due runs.Due) <-chan struct{} {
	sl := &sleeper{due: due, woke: make(chan struct{}, 1)}
	z := &s.sleepers
	z.mu.Lock()
	if z.all == nil {
		z.all = map[*sleeper]struct{}{}
	}
	z.all[sl] = struct{}{}
	z.mu.Unlock()
	context.AfterFunc(ctx, func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		delete(z.all, sl)
	})
	return sl.woke
}

// WakeUp wakes those in this process who wait for runs of these queues and agents; none means all.
func (s *Store) WakeUp(due runs.Due) {
	s.sleepers.mu.Lock()
	defer s.sleepers.mu.Unlock()
	for sl := range s.sleepers.all {
		if !overlap(sl.due.Queues, due.Queues) || !overlap(sl.due.Agents, due.Agents) {
			continue
		}
		select {
		case sl.woke <- struct{}{}:
		default:
		}
	}
}

// overlap reports whether two lists, of which an empty one has everything, have something in common.
func overlap(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// wake notifies the workers of this process and of others that a run is due.
func (s *Store) wake(due runs.Due) {
	s.WakeUp(due)
	if s.announce != nil {
		s.announce(due)
	}
}
