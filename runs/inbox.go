package runs

import (
	"context"
	"time"
)

// Inbox submits, answers, stops and continues runs, from any process.
type Inbox interface {
	// Submit makes a run that is ready, in one atomic step. If there is one with that ID, it changes nothing and returns
	// that run with an error that matches [ErrExists]. Runs of one key that are submitted at the same moment are there
	// in the order of their Born.
	Submit(ctx context.Context, id string, run Spec) (Info, error)
	// Reply replies to questions of a run: to all of them or, with an error, to none. Replies to a run that is paused while
	// it waits are kept until it continues. The error matches [ErrNotWaiting] if the run does not wait for one of the points,
	// [ErrReplyLate] too if the time of one is over, [ErrReplied] if one has a reply; of two replies at once one is taken.
	// When no question is left that the run needs a reply to, it is ready.
	Reply(ctx context.Context, id string, replies ...Reply) error
	// Stop asks the holder of a run to stop it, and pauses it if no owner has it. A run that has ended is
	// [ErrEnded].
	Stop(ctx context.Context, id string, how StopRequest) error
	// Continue makes a run that is paused ready. One that is ready or running is left as it is.
	Continue(ctx context.Context, id string) error
}

// StopRequest asks the owner of a run to stop it.
type StopRequest struct {
	// Immediate gives up calls that are in flight. Without it the run stops where nothing is lost: after the answer of a
	// model, or after the tools that it called.
	Immediate bool
	// Timeout makes it immediate if it has not stopped by then. 0: never.
	Timeout time.Duration
	Reason  string
	// By names the person who asked.
	By string
	// Children: the runs that it waits for are stopped, too, and theirs.
	Children bool
}

// Waker wakes workers, so that they need not look so often. It is optional.
type Waker interface {
	// Wake returns a channel that receives when runs that AcquireDue would find may have become due. It may receive for
	// nothing, and a signal may be missing, so a worker looks now and then nevertheless. Signals that were not received
	// become one. It is in use until the context ends, and is never closed.
	Wake(ctx context.Context, due Due) <-chan struct{}
}
