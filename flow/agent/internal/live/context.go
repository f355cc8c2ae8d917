package live

import (
	"context"
	"errors"
	"sync/atomic"
)

// runContext returns a context for a run in the context of its caller, that end makes end early, and leave takes from the
// caller's. A run that is over leaves and does not end, also if end is called later, when its reader has read everything: those
// who observe it may still be at work with its context, and callers whose contexts live for long would keep one of each run.
func runContext(caller context.Context) (ctx context.Context, end, leave func()) {
	ctx = context.WithoutCancel(caller)
	release := func() {}
	deadline, limited := caller.Deadline()
	if limited {
		ctx, release = context.WithDeadline(ctx, deadline)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(caller, func() {
		if !limited || !errors.Is(caller.Err(), context.DeadlineExceeded) { // that says the deadline of ctx itself
			cancel(context.Cause(caller))
		}
	})
	var over atomic.Bool
	end = func() {
		if !over.Load() {
			cancel(nil)
			release()
		}
	}
	return ctx, end, func() {
		over.Store(true)
		stop()
	}
}
