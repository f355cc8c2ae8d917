package checkpoint

import (
	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/core"
)

// RunStore is a store that knows about runs, so that several processes can share them: it offers everything of this
// package. Its methods are those of [Store], [Deleter], [Lister], [Journal], [Leaser], [Inspector], [Inbox] and
// [Janitor], where they are described:
//
//   - Get, Set, Delete, ListCheckPoints: checkpoints
//   - AppendRecord, ReadRecords, RemoveRecords: journals
//   - Acquire, AcquireDue: leases
//   - Inspect, Result, List, Count: what a store knows of runs
//   - Submit, Answer, Stop, Continue: what others have for runs
//   - Remove, Sweep: the end of runs
//
// What is written by the methods of the store itself, and not by those of a lease, is not fenced, and makes no run: it
// is what a Runner writes that takes no leases.
type RunStore = core.RunStore

// Leaser hands out runs to one owner at a time. Its methods are
//
//	Acquire(ctx context.Context, id string, req LeaseRequest) (Lease, error)
//	AcquireDue(ctx context.Context, req LeaseRequest, due Due) (Lease, error)
//
// Acquire takes a run: one that nobody holds, or whose lease has ended by the clock of the store, or any with Steal. It
// fails with [ErrRunBusy] if somebody has it, and with [ErrNotFound] if there is none and the request does not make
// one. AcquireDue takes the run that is due for longest, and fails with [ErrNothingDue].
type Leaser = core.RunLeaser

// Lease is a run that is held: a store and a journal of exactly this run, whose writes fail with [ErrLeaseLost] once
// somebody else has it. Its methods are
//
//	Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error)
//	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
//	Delete(ctx context.Context, checkPointID string) error
//	AppendRecord(ctx context.Context, checkPointID string, record []byte) error
//	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
//	RemoveRecords(ctx context.Context, checkPointID string) error
//	Token() uint64
//	TTL() time.Duration
//	Info() RunInfo
//	Renew(ctx context.Context) error
//	Settle(ctx context.Context, s Settlement) error
//	Answers(ctx context.Context) ([]Answer, error)
//	Stops() <-chan StopRequest
//
// Token grows from lease to lease in the whole store. Info is the run as it was before it was taken. An append renews
// the lease, as Renew does. Settle says what has become of the run and gives the lease back in one atomic step. Answers
// are those that were given to the run and are not used up. Stops delivers requests to stop it.
type Lease = core.RunLease

// LeaseRequest says how a run is taken.
//
//   - Owner: who takes it, for people
//   - TTL: how long the lease counts without a sign of life; at least a second, default 30 s
//   - Steal: take it although the lease of another has not ended
//   - Create: make the run if there is none
type LeaseRequest = core.LeaseRequest

// NewRun describes a run to be made.
//
//   - Agent, Queue: by which workers find it
//   - Parent, ParentPoint: the run, and its question, that is answered when this one ends
//   - Key: of the runs with one key only the first one that is ready, running or waiting can be taken
//   - Alone: have Submit refuse it, with [ErrRunBusy], if it would not be the first one
//   - Tags, Priority, NotBefore, Deadline: as the application wishes
//   - Build, Trace: of whoever submits it
//   - Records: the beginning of its journal
type NewRun = core.NewRun

// Due says which runs [Leaser] is to look for; nothing means all.
//
//   - Queues: any of these
//   - Agents: any of these
type Due = core.Due

// Status is the state of a run: [Ready], [Running], [Waiting], [Paused], [Done] or [Failed].
type Status = core.RunStatus

// The states of a run.
const (
	Ready   = core.RunReady   // it can be taken, once its time has come
	Running = core.RunRunning // somebody took it; it is due again when his lease has ended
	Waiting = core.RunWaiting // for answers
	Paused  = core.RunPaused  // it was stopped, and can be continued
	Done    = core.RunDone
	Failed  = core.RunFailed // it can be resumed after its last step
)

// RunInfo describes a run, without messages and results.
//
//   - Tenant, ID, Agent, Queue, Parent, Key: which run
//   - Status: what it has come to
//   - Token, Owner, LeaseUntil: of its lease; Owner is empty if nobody holds it
//   - Waiting: the questions it waits for
//   - Tags, Priority, Deadline, Build, Trace: as it was submitted
//   - Attempts: how many leases in a row ended without progress
//   - Retries: how often in a row it failed and was to be tried again
//   - Steps, Bytes: how large it is
//   - Usage: what its models have used, up to when its lease was settled last
//   - Created, Updated, WakeAt, Expires: times, by the clock of the store
//   - Born: grows from run to run, the order of those with one key; 0 if it is not known
//   - Error: why it has failed
//   - Now: the time of the store when the lease was taken, in the Info of a lease only
type RunInfo = core.RunInfo

// Usage counts tokens. What is not known is absent, never 0.
//
//   - Input, Output, Total: tokens of requests, of answers, and of both
//   - InputCached, InputCacheWrite: of the input, those that were read from a cache, and written to one
//   - OutputReasoning: of the output, those of thoughts
//   - Add: adds what something else has used, nil for nothing
//   - Raise: raises each count to that of another account of the same calls
type Usage = core.RunUsage

// WaitPoint is a question that a run waits for.
//
//   - ID, Address: of the interrupt point
//   - Kind: approval, question, outcome, timer, run, webhook, or the application's own
//   - For: whom it waits for
//   - Summary: one line for a list, at most 500 bytes
//   - Info, Truncated: JSON for whoever shows it, at most 16 KiB
//   - Optional: the run does not wait for it if it has questions that are not optional
//   - Since, Expires: times
//   - Answered: whether it has an answer
type WaitPoint = core.WaitPoint

// Settlement describes the state of a run whose lease is given back.
//
//   - Status: of the run
//   - Waiting: its questions
//   - Result, Err: of one that has ended
//   - WakeAt: when it becomes due
//   - Keep: for how long it is kept; 0 is the store's retention, negative for ever
//   - Checkpoint: replaces the checkpoint, if not nil
//   - DropRecords: removes the journal
//   - Usage: what the run has used since its beginning; the zero value leaves what the store has
//   - Children: runs that are submitted in the same step
//   - Answer: what the parent gets
//   - Cause, Infos: the values behind Err and Waiting, for leases that are wrapped around those of a store
type Settlement = core.Settlement

// ChildRun is a run that another one waits for: its ID, and what it is made of.
//
//   - ID: of the run
//   - Run: what it is made of
type ChildRun = core.ChildRun

// Answer is the answer of a person or program to a question of a run.
//
//   - Point: the ID of the interrupt point
//   - Data: JSON, or a value encoded by the type registry; nil says nothing
//   - JSON: which of the two
//   - By, At: who answered, and when
type Answer = core.Answer

// StopRequest asks whoever holds a run to stop it.
//
//   - Immediate: give up calls in flight; otherwise it stops where nothing is lost
//   - Timeout: after which it becomes immediate
//   - Reason, By: for people
//   - Children: stop the runs that it waits for, too
type StopRequest = core.StopRequest

// Inspector answers questions about runs without decoding anything. Its methods are
//
//	Inspect(ctx context.Context, id string) (RunInfo, bool, error)
//	Result(ctx context.Context, id string) ([]byte, error)
//	List(ctx context.Context, q Query) iter.Seq2[RunInfo, error]
//	Count(ctx context.Context, q Query) (map[Status]int64, error)
//
// List yields the run first that was updated last. A run that changes meanwhile may come twice; none that does not
// change is missed. Whoever wants to know if a store answers, or if there is any such run, lists with a Limit of 1: Count
// counts all of them.
type Inspector = core.RunInspector

// Query says which runs are listed; what is empty does not matter.
//
//   - Status: any of these
//   - Queue, Agent, Parent, Key: exactly these
//   - WaitingFor, Kind: of a question that has no answer
//   - Tags: all of these
//   - CreatedAfter, UpdatedBefore: times
//   - After: the [Cursor] of the last run that was seen
//   - Limit: how many; 0 means all
type Query = core.RunQuery

// Cursor returns the position behind a run, for the After of a [Query].
func Cursor(r RunInfo) string { return core.RunCursor(r) }

// Inbox takes what others have for a run. Its methods are
//
//	Submit(ctx context.Context, id string, run NewRun) (RunInfo, error)
//	Answer(ctx context.Context, id string, answers ...Answer) error
//	Stop(ctx context.Context, id string, how StopRequest) error
//	Continue(ctx context.Context, id string) error
//
// Submit makes a run that is ready; [ErrRunExists] if there is one. Answer takes all answers or none: [ErrNotWaiting],
// [ErrAnswered]. Stop asks the holder of a run to stop it, or pauses it; Continue makes a paused run ready.
type Inbox = core.RunInbox

// Waker wakes workers, so that they need not look so often for runs that are due. A store may offer it. Its method is
//
//	Wake(ctx context.Context, due Due) <-chan struct{}
//
// The channel receives when runs that [Leaser] would find may have become due. It may receive for nothing, and miss
// some.
type Waker = core.RunWaker

// Janitor removes runs. Its methods are
//
//	Remove(ctx context.Context, id string, force bool) error
//	Sweep(ctx context.Context, limit int) (Swept, error)
//
// Remove removes everything of a run; with force also of one that somebody holds. Sweep removes runs that have expired.
type Janitor = core.RunJanitor

// Swept reports what a sweep removed and changed.
//
//   - Runs: how many it removed
//   - More: there are more
type Swept = core.Swept

// Retention sets the time for which runs are kept after they came to a state. 0 is the default, a negative time for ever.
//
//   - Done: default 24 hours
//   - Failed: default 7 days
//   - Waiting: default for ever
//   - Paused: default 30 days
//   - Events: those of a run that has ended; default an hour, and no longer than the run
//   - For: returns the time for a state, 0 for ever
//   - ForEvents: returns the time for events, negative for ever
type Retention = core.RunRetention

// BusyError is [ErrRunBusy] with who has the run.
//
//   - ID: of the run that is busy: the one that was asked for, or the one of its key that must end before
//   - Owner, Until, Token: of the lease, if somebody has one
//   - Error, Is: its methods
type BusyError = core.BusyError

// RunError is an error about the state of a run.
//
//   - Err: one of the errors of this package
//   - Info: the run as it is now
//   - Error, Unwrap: its methods
type RunError = core.RunError

// Errors of stores that know about runs.
var (
	// ErrRunBusy says that somebody else holds the lease of a run; see [BusyError].
	ErrRunBusy = core.ErrRunBusy
	// ErrLeaseLost says that a lease no longer counts: somebody took the run over, or it was settled or removed.
	ErrLeaseLost = core.ErrLeaseLost
	// ErrNothingDue says that there is no run to take.
	ErrNothingDue = core.ErrNothingDue
	// ErrNotWaiting says that a run does not wait for the point that was answered.
	ErrNotWaiting = core.ErrNotWaiting
	// ErrAnswered says that the point has an answer.
	ErrAnswered = core.ErrAnswered
	// ErrAnswerLate says that the time of the question was over when it was answered, whether or not a worker has looked at
	// the run since. It comes with [ErrNotWaiting].
	ErrAnswerLate = core.ErrAnswerLate
	// ErrRunExists says that there is a run with that ID.
	ErrRunExists = core.ErrRunExists
	// ErrRunEnded says that a run is done or has failed.
	ErrRunEnded = core.ErrRunEnded
	// ErrRunExpired says that a run was kept for as long as the store keeps it, and is no more.
	ErrRunExpired = core.ErrRunExpired
	// ErrStoreFull says that the store has no room left, on its disk or by a limit of its server. The call can be made
	// again when there is room, and its run be resumed.
	ErrStoreFull = core.ErrStoreFull
	// ErrBadRow says that what the store knows of a run is damaged, or was written by a newer release. Lists show such a
	// run as failed, no worker takes it, and Remove removes it.
	ErrBadRow = storekit.ErrBadRow
)
