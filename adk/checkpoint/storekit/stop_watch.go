package storekit

import (
	"context"
	"sync"
	"time"
)

// StopPoll is the interval at which a store looks for requests to stop the runs that it holds, if nothing tells it of them.
const StopPoll = 400 * time.Millisecond

// stopLookTime limits the time that one look takes.
const stopLookTime = 5 * time.Second

// StopWatch finds the requests to stop runs that a store has leased in this process, without waiting for the next renewal
// of the lease. A store calls Hold when it hands out a lease, Leave when the lease ends, and Look when it has written a
// request or hears of one. Requests that other processes have written are looked for every [StopPoll] while there are
// leases; a store without leases does nothing. It has no goroutine of its own, and is safe for concurrent use.
type StopWatch[K comparable, L comparable] struct {
	look func(ctx context.Context, held []L) (lost []L)
	told func() bool

	mu sync.Mutex // guards the fields below; nothing is called while it is held
	// held are the leases by the run.
	held map[K]L
	// timer calls poll, nil until the first lease. It is stopped while nothing is held.
	timer  *time.Timer
	closed bool
}

// NewStopWatch makes a watch. look reads the requests that are in the store, delivers those that the leases have not seen,
// and returns the leases that no longer count. told reports whether the store hears at once of what other processes write:
// then nothing is polled; nil means that it never does.
func NewStopWatch[K comparable, L comparable](look func(ctx context.Context, held []L) (lost []L), told func() bool) *StopWatch[K, L] {
	return &StopWatch[K, L]{look: look, told: told, held: map[K]L{}}
}

// Hold has the watch look for requests to stop a run. A lease of the same run that was there before is forgotten.
func (w *StopWatch[K, L]) Hold(run K, lease L) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.held[run] = lease
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(StopPoll, w.poll)
	case len(w.held) == 1:
		w.timer.Reset(StopPoll)
	}
}

// Leave ends the watch for a lease.
func (w *StopWatch[K, L]) Leave(run K, lease L) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(run, lease)
}

func (w *StopWatch[K, L]) leave(run K, lease L) {
	if held, ok := w.held[run]; !ok || held != lease {
		return
	}
	delete(w.held, run)
	if len(w.held) == 0 {
		w.timer.Stop()
	}
}

// Look looks at once for a request to stop a run, if this process holds it.
func (w *StopWatch[K, L]) Look(ctx context.Context, run K) {
	w.mu.Lock()
	lease, ok := w.held[run]
	w.mu.Unlock()
	if ok {
		w.lookAt(ctx, map[K]L{run: lease})
	}
}

// Close ends the watch. It may be called again.
func (w *StopWatch[K, L]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	clear(w.held)
	if w.timer != nil {
		w.timer.Stop()
	}
}

// poll looks at all leases, in the goroutine of the timer.
func (w *StopWatch[K, L]) poll() {
	if w.told == nil || !w.told() {
		w.mu.Lock()
		some := make(map[K]L, len(w.held))
		for run, lease := range w.held {
			some[run] = lease
		}
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), stopLookTime)
		w.lookAt(ctx, some)
		cancel()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		w.timer.Reset(StopPoll)
	}
}

func (w *StopWatch[K, L]) lookAt(ctx context.Context, some map[K]L) {
	if len(some) == 0 {
		return
	}
	leases := make([]L, 0, len(some))
	for _, lease := range some {
		leases = append(leases, lease)
	}
	lost := w.look(ctx, leases)
	if len(lost) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for run, lease := range some {
		for _, l := range lost {
			if l == lease {
				w.leave(run, lease)
			}
		}
	}
}
