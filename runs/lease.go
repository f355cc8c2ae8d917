package runs

import (
	"context"
	"time"
)

// LeaseRequest describes how a run is taken.
type LeaseRequest struct {
	// Owner names the process that takes it, for people: host, process, a random part.
	Owner string
	// TTL is the time for which the lease counts without a sign of life. At least a second; the default is 30.
	TTL time.Duration
	// Steal takes the run although the lease of another has not ended.
	Steal bool
	// Create makes the run if there is none.
	Create *Spec
}

// Due selects the runs that a worker looks for: of any of the queues, and of any of the agents. None of either means all, but
// for the runs of the queue "weft.sweep", which are leases of Weft's own.
type Due struct{ Queues, Agents []string }

// Leaser hands out runs to one owner at a time.
type Leaser interface {
	// Acquire takes a run. A lease that has ended, by the clock of the store, is taken over. It is an error that matches
	// [ErrBusy] if another owner has the run, or another run of its key comes first, and [ErrNotFound] if there is no run and
	// req.Create is nil. A checkpoint or journal that was written without a lease is no run; if Create makes one under its
	// ID, they are the run's.
	Acquire(ctx context.Context, id string, req LeaseRequest) (Lease, error)
	// AcquireDue takes the run that is due for longest, runs of higher priority first: one that is ready and whose time
	// has come, one that is running with a lease that has ended, or one that is waiting and whose WakeAt has come.
	// It returns [ErrNothingDue] if there is none.
	AcquireDue(ctx context.Context, req LeaseRequest, due Due) (Lease, error)
}

// Lease is a run that one owner holds: a store and a journal of exactly this run. Every write checks, in the same atomic
// step, that no other owner took the run since; otherwise it does nothing, and its error matches [ErrLeaseLost]. A lease whose
// time is over and whose run no other owner took still writes. It is safe for concurrent use. An ID other than the run's is an
// error.
type Lease interface {
	// Get returns the checkpoint of the run, and false when there is none.
	Get(ctx context.Context, id string) (checkPoint []byte, exists bool, err error)
	// Set stores the checkpoint. The slice must not be kept after Set returns unless it is copied.
	Set(ctx context.Context, id string, checkPoint []byte) error
	// Delete removes the checkpoint; removing one that is not there is no error.
	Delete(ctx context.Context, id string) error
	// Journal has the records of the run. An append renews the lease.
	Journal
	// Token is greater than the token of every lease that the store handed out before.
	Token() uint64
	// TTL is the time for which the lease counts from a renewal.
	TTL() time.Duration
	// Info is the run as it was before it was taken, with the status and the owner of that time. The status of a run that
	// was made by taking it is "".
	Info() Info
	// Renew makes the lease count for its TTL from now on.
	Renew(ctx context.Context) error
	// Settle writes the new state of the run and gives the lease back, in one atomic step. Nothing can be written by
	// the lease afterwards.
	Settle(ctx context.Context, s Settlement) error
	// Replies returns the replies that were given since the run was settled last. Settle uses them up.
	Replies(ctx context.Context) ([]Reply, error)
	// Stops delivers the last request to stop the run. The stores of Weft deliver one of the same process at
	// once, and one of another process within a second; other stores may notice it with the next append or renewal. It is
	// never closed.
	Stops() <-chan StopRequest
}
