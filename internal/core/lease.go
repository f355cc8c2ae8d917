package core

import (
	"errors"
	"time"

	"github.com/weftgo/weft/runs"
)

// EndsRun reports whether an error, such as the error of an agent inside a tool, says that the run cannot continue in
// this process: it is none for a model to read.
func EndsRun(err error) bool {
	return errors.Is(err, runs.ErrNotSaved) || errors.Is(err, runs.ErrUndecided) || errors.Is(err, runs.ErrLeaseLost)
}

// OwnQueue is the queue of runs that are leases of Weft's own and execute nothing, such as the lease of the worker that
// removes old events. They are listed and counted by queries that name the queue, and by no others; no worker takes them.
const OwnQueue = "weft.sweep"

// SignOfLife is the time at which the last write was begun that made a lease count for its TTL, by the clock of this
// process. A lease that does not say so, by a method of that name, has just been taken.
func SignOfLife(lease runs.Lease) time.Time {
	if known, ok := lease.(interface{ SignOfLife() time.Time }); ok {
		return known.SignOfLife()
	}
	return time.Now()
}

// StopNotifier is a lease that says that its run is to be stopped by a call, so that no goroutine has to wait for Stops.
type StopNotifier interface {
	// NotifyStops has f called with each request to stop, also with one that came before, in a goroutine of its own. Stops
	// delivers nothing from then on.
	NotifyStops(f func(runs.StopRequest))
}

// NotifyStops has f called with each request to stop of a lease, until over is closed at the latest.
func NotifyStops(lease runs.Lease, over <-chan struct{}, f func(runs.StopRequest)) {
	if n, ok := leaseAs[StopNotifier](lease); ok {
		n.NotifyStops(f)
		return
	}
	go func() {
		for {
			select {
			case <-over:
				return
			case stop := <-lease.Stops():
				f(stop)
			}
		}
	}()
}

// Abandoner lets a store forget a lease. A lease offers it if its store keeps something for it in this process.
type Abandoner interface {
	// Abandon lets go of a lease that will not be settled: it is lost, or the process has given the run up. In the store
	// nothing changes.
	Abandon()
}

// AbandonLease calls Abandon of a lease that has it.
func AbandonLease(lease runs.Lease) {
	if a, ok := leaseAs[Abandoner](lease); ok {
		a.Abandon()
	}
}

// leaseAs looks for something that a lease offers, or one of those that it wraps.
func leaseAs[T any](lease runs.Lease) (offered T, ok bool) {
	for lease != nil {
		if offered, ok = lease.(T); ok {
			return offered, true
		}
		wrapper, wraps := lease.(interface{ Unwrap() runs.Lease })
		if !wraps {
			break
		}
		lease = wrapper.Unwrap()
	}
	return offered, false
}

// EventRetainer is a store of runs whose RunRetention says for how long events of a run stay after its end, for those who
// remove them.
type EventRetainer interface{ EventRetention() time.Duration }
