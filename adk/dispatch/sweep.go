package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

const (
	// sweeper is the ID of the run, without records, whose lease is held by the process that removes events. It is in no
	// list (see core.OwnQueue), and no run of this name can be submitted, stopped or removed through a dispatcher.
	sweeper = "weft.sweep"
	// sweepTime limits the time that it takes to remove runs, and then events, which is also the time of the lease.
	sweepTime = time.Minute
	// sweepAtOnce is the number of runs that are removed in one call of the store.
	sweepAtOnce = 1000
	// keepStray is the time for which events stay of a run that the store of runs does not have: it may be one of another
	// store.
	keepStray = 7 * 24 * time.Hour
)

// Sweep removes the runs that have expired, as the runs.Retention of the store says, and the events of
// TypedConfig.Log of runs that ended keepEvents ago. 0 is what the retention of the store says, an hour if it says
// nothing; negative is for ever. Events of a run that the store of runs does not have stay for a week.
//
// It takes two minutes at most, and leaves the rest to the next one. [TypedDispatcher.Work] calls it now and then; who
// has runs executed by others calls it every few minutes, in any process, also in several at the same time.
func (d *TypedDispatcher[M]) Sweep(ctx context.Context, keepEvents time.Duration) error {
	return errors.Join(d.sweepRuns(ctx), d.sweepEvents(ctx, d.eventRetention(keepEvents)))
}

// eventRetention is the time for which events stay, given what was asked for.
func (d *TypedDispatcher[M]) eventRetention(asked time.Duration) time.Duration {
	if kept, ok := checkpoint.As[core.EventRetainer](d.store); ok && asked == 0 {
		asked = kept.EventRetention()
	}
	if asked == 0 {
		return time.Hour
	}
	return asked
}

// notOwn is the error of who names a run that is Weft's own: for users there is none.
func notOwn(id string) error {
	if id != sweeper {
		return nil
	}
	return fmt.Errorf("run %q: %w", id, runs.ErrNotFound)
}

// sweepRuns removes what has expired.
func (d *TypedDispatcher[M]) sweepRuns(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	for {
		swept, err := d.store.Sweep(limited, sweepAtOnce)
		switch {
		case limited.Err() != nil: // the next one continues
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("remove runs that have expired: %w", err)
		case !swept.More:
			return nil
		}
	}
}

// sweepEvents removes events that are old. One process does so at a time, and none for long.
func (d *TypedDispatcher[M]) sweepEvents(ctx context.Context, keep time.Duration) error {
	if d.conf.Log == nil || keep < 0 {
		return nil
	}
	request := d.leaseRequest()
	request.TTL, request.Create = sweepTime, &runs.Spec{Agent: sweeper, Queue: core.OwnQueue}
	lease, err := d.store.Acquire(ctx, sweeper, request)
	switch {
	case errors.Is(err, runs.ErrBusy):
		return nil
	case err == nil && lease.Info().Queue != core.OwnQueue: // it was written past the dispatcher
		err = errors.Join(fmt.Errorf("run %q is not Weft's: remove it", sweeper), lease.Settle(ctx, runs.Settlement{}))
	}
	if err != nil {
		return fmt.Errorf("remove old events: %w", err)
	}
	defer func() { _ = d.store.Remove(context.WithoutCancel(ctx), sweeper, true) }() // else its lease ends
	limited, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	_, err = d.conf.Log.SweepFunc(limited, keep, func(log runlog.Info) (bool, error) {
		if log.End.HasEnded() {
			return true, nil
		}
		if time.Since(log.Updated) < keepStray {
			return false, nil
		}
		_, exists, err := d.store.Inspect(limited, log.Run)
		return !exists, err
	})
	if limited.Err() != nil { // the next one continues
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("remove old events: %w", err)
	}
	return nil
}
