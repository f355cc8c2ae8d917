package runs

import (
	"context"
	"time"
)

// Janitor removes runs.
type Janitor interface {
	// Remove removes everything of a run. Without force, a run that an owner has is [ErrBusy]; with it, the lease
	// is lost. It is no error if there is no such run.
	Remove(ctx context.Context, id string, force bool) error
	// Sweep removes at most so many runs that have expired, each in one atomic step, and none that an owner has.
	Sweep(ctx context.Context, limit int) (Swept, error)
}

// Swept reports what a sweep did.
type Swept struct {
	// Runs is the number of runs that it removed. More: there are more.
	Runs int
	More bool
}

// Retention is the time for which runs are kept after they came to a state. 0 is the default, a negative time for ever.
type Retention struct {
	Done    time.Duration // default 24 hours
	Failed  time.Duration // default 7 days
	Waiting time.Duration // default for ever
	Paused  time.Duration // default 30 days
	// Events is the time for which the events of a run that has ended are kept, at most as long as the run. The default is
	// an hour.
	Events time.Duration
}

// For returns how long a run in a state is kept, 0 for ever.
func (r Retention) For(s Status) time.Duration {
	pick := func(d, otherwise time.Duration) time.Duration {
		if d == 0 {
			d = otherwise
		}
		return max(d, 0)
	}
	const day = 24 * time.Hour
	switch s {
	case Done:
		return pick(r.Done, day)
	case Failed:
		return pick(r.Failed, 7*day)
	case Waiting:
		return pick(r.Waiting, -1)
	case Paused:
		return pick(r.Paused, 30*day)
	}
	return 0
}

// ForEvents returns how long the events of a run that has ended are kept, negative for ever. That is no longer than the run:
// another one may have its ID afterwards, and must not continue its events.
func (r Retention) ForEvents() time.Duration {
	keep := r.Events
	if keep == 0 {
		keep = time.Hour
	}
	for _, status := range []Status{Done, Failed} {
		if most := r.For(status); most > 0 && (keep < 0 || keep > most) {
			keep = most
		}
	}
	return keep
}
