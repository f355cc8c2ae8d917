// Package recipes has runs executed by queues that an application has already: each folder is a program for one of them.
// A queue carries nothing but the ID of a run; what the run is, and how far it is, is in the store of runs.
package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// Next says what a queue is to do after a stretch: to look at the run again after a while, if again is true, or nothing.
// An error is the error of a stretch that was broken off, which the queue tries again in its own way.
func Next(o dispatch.Result, err error) (after time.Duration, again bool, _ error) {
	var busy *runs.BusyError
	switch {
	case errors.Is(err, runs.ErrNotFound): // it has expired, or was removed
		return 0, false, nil
	case errors.As(err, &busy): // another worker has it, or another run of its key is in front
		return min(max(time.Until(busy.Until), time.Second), time.Minute), true, nil
	case errors.Is(err, dispatch.ErrWrongWorker):
		return 5 * time.Second, true, nil
	case err != nil:
		return 0, false, err
	case o.Status == runs.Ready, o.Status == runs.Waiting && !o.WakeAt.IsZero():
		return max(time.Until(o.WakeAt), 0), true, nil
	}
	return 0, false, nil // it has ended, is paused, or waits for an answer, which puts it into the queue
}

// Due returns the IDs of runs that a worker has to look at: they are ready, or their process has died. A queue that
// forgets a job loses no run if this is asked now and then.
func Due(ctx context.Context, store *dispatch.Dispatcher) (ids []string, err error) {
	now := time.Now()
	q := runs.Query{Status: []runs.Status{runs.Ready, runs.Running, runs.Waiting}}
	for info, err := range store.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		due := info.WakeAt
		if info.Status == runs.Running {
			due = info.LeaseUntil
		}
		if !due.IsZero() && due.Before(now) {
			ids = append(ids, info.ID)
		}
	}
	return ids, nil
}
