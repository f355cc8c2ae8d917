package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Errors of stores that know about runs. They are matched by errors.Is; [BusyError] and [RunError] carry more.
var (
	// ErrRunBusy says that another holder has the lease of a run.
	ErrRunBusy = errors.New("the run is busy")
	// ErrLeaseLost says that a lease no longer counts: another process took the run over, or it was settled or removed.
	ErrLeaseLost = errors.New("the lease of the run is lost")
	// ErrNotSaved says that a step of a run could not be saved. The run ends, and can be resumed behind the last step that
	// was; who takes it for the failure of a tool has a model call the tool once more.
	ErrNotSaved = errors.New("failed to save a step")
	// ErrUndecided says that a tool could not find out what became of a call whose process died. The run ends as with
	// [ErrNotSaved].
	ErrUndecided = errors.New("nobody knows what became of a call")
	// ErrNothingDue says that there is no run to take.
	ErrNothingDue = errors.New("no run is due")
	// ErrNotWaiting says that a run does not wait for the point that was answered.
	ErrNotWaiting = errors.New("the run does not wait for that answer")
	// ErrAnswered says that the point has an answer.
	ErrAnswered = errors.New("the question was answered before")
	// ErrAnswerLate says that the time of the question was over when it was answered. It comes with [ErrNotWaiting].
	ErrAnswerLate = errors.New("the time to answer the question is over")
	// ErrRunExists says that there is a run with that ID.
	ErrRunExists = errors.New("there is a run with that ID")
	// ErrRunEnded says that a run is done or has failed.
	ErrRunEnded = errors.New("the run has ended")
	// ErrRunExpired says that a run was kept for as long as the store keeps it, and is no more.
	ErrRunExpired = errors.New("the run has expired")
	// ErrStoreFull says that a store has no room left, on its disk or by a limit of its server. The call can be made
	// again when there is room.
	ErrStoreFull = errors.New("the store is full: make room, and resume the run")
)

// EndsRun reports whether an error, such as the error of an agent inside a tool, says that the run cannot continue in
// this process: it is none for a model to read.
func EndsRun(err error) bool {
	return errors.Is(err, ErrNotSaved) || errors.Is(err, ErrUndecided) || errors.Is(err, ErrLeaseLost)
}

// BusyError is [ErrRunBusy] with who has the run.
type BusyError struct {
	// ID is the ID of the run that is busy: the one that was asked for, or the one of its key that must end before.
	ID    string
	Owner string
	// Until is the time at which the lease ends if its owner does not renew it, by the clock of the store.
	Until time.Time
	Token uint64
}

func (e *BusyError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("run %q is busy: it has not ended; wait for it, or stop it", e.ID)
	}
	return fmt.Sprintf("run %q is busy: %s has it until %s; wait, or take it with Steal if its process is known to be gone",
		e.ID, e.Owner, e.Until.UTC().Format(time.RFC3339))
}

// Is reports whether the target is ErrRunBusy.
func (e *BusyError) Is(target error) bool { return target == ErrRunBusy }

// RunError is an error about the state of a run, with what the store knows of it.
type RunError struct {
	// Err is one of the errors of this package, such as [ErrAnswered].
	Err error
	// Info is the run as it is now; of a lease that is lost the ID and the token of the lease alone.
	Info RunInfo
}

func (e *RunError) Error() string {
	if e.Info.Status == "" {
		return fmt.Sprintf("run %q: %v", e.Info.ID, e.Err)
	}
	return fmt.Sprintf("run %q, which is %s: %v", e.Info.ID, e.Info.Status, e.Err)
}

func (e *RunError) Unwrap() error { return e.Err }

// RunStatus is the state of a run.
//
//	from             to       when
//	(none)           ready    it is submitted
//	(none)           running  a lease is taken with Create
//	ready            running  its lease is taken
//	waiting, paused, failed
//	                 running  the holder of its lease appends a record
//	running          any      its lease is settled
//	waiting          ready    its questions are answered
//	paused           ready    it is continued
//	ready, waiting   paused   it is stopped while its lease is free
//
// A run that is done stays so. A lease that ends without being settled leaves the status as it is.
type RunStatus string

// The states of a run.
const (
	RunReady   RunStatus = "ready"   // it can be taken, once its time has come
	RunRunning RunStatus = "running" // a process took it; it is due again when the lease has ended
	RunWaiting RunStatus = "waiting" // for answers
	RunPaused  RunStatus = "paused"  // it was stopped, and can be continued
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed" // it can be resumed after its last step
)

// RunInfo describes a run, without messages and results: a store knows it without decoding anything.
type RunInfo struct {
	Tenant, ID, Agent, Queue, Parent, Key string
	Status                                RunStatus
	// Token is the token of the lease taken last, and Owner who took it; Owner is "" when the lease was settled.
	Token      uint64
	Owner      string
	LeaseUntil time.Time
	Waiting    []WaitPoint
	Tags       map[string]string
	Priority   int
	// Attempts counts the leases since the last one that was settled, or that recorded more than its first step.
	Attempts int
	// Retries counts how often in a row it was settled as ready with an error.
	Retries int
	// Steps is the number of records that the journal has, and Bytes what is kept of the run.
	Steps                             int
	Bytes                             int64
	Created, Updated, WakeAt, Expires time.Time
	Deadline                          time.Time
	// Usage counts the tokens of its models, up to when its lease was settled last.
	Usage RunUsage
	// Born grows from run to run of a store: the order in which runs of one key are executed. 0 is not known.
	Born uint64
	// Build is the build that submitted the run, Trace the trace that it belongs to, as the application writes it.
	Build, Trace string
	Error        string
	// Now is the time of the store when the lease was taken, in the Info of a lease. It is zero elsewhere.
	Now time.Time
}

// WaitPoint is a question that a run waits for.
type WaitPoint struct {
	// ID is the ID of the interrupt point, Address where in the run it is.
	ID, Address string
	// Kind is approval, question, outcome, timer, run or webhook, or the application's own.
	Kind string
	// For is whom it waits for: users, groups, roles, as the application names them.
	For []string
	// Summary is one line for a list, at most 500 bytes.
	Summary string
	// Info is for a program that shows the question, at most 16 KiB of JSON. A longer one is left out, and Truncated set.
	Info      json.RawMessage
	Truncated bool
	// Optional: the run does not wait for this one if it has others that are not optional. Of several that are all
	// optional one answer is enough.
	Optional       bool
	Since, Expires time.Time
	Answered       bool
}

// NewRun describes a run to be made.
type NewRun struct {
	Agent, Queue string
	// Parent is the run that waits for this one at ParentPoint. It is answered when this one is settled as done or failed.
	// A child of a settlement that exists keeps all but the point, if it has that parent.
	Parent, ParentPoint string
	// Key: of the runs with one key that are ready, running or waiting only the first that was made can be taken.
	Key string
	// Alone refuses to make the run, with an error that matches [ErrRunBusy], if another one of its key would have to end
	// before it: in the one step of Submit: among several at the same moment, one is made. It says nothing elsewhere.
	Alone               bool
	Tags                map[string]string
	Priority            int
	NotBefore, Deadline time.Time
	Build, Trace        string
	// Records are the beginning of the journal.
	Records [][]byte
}

// OwnQueue is the queue of runs that are leases of Weft's own and execute nothing, such as the lease of the worker that
// removes old events. They are listed and counted by queries that name the queue, and by no others; no worker takes them.
const OwnQueue = "weft.sweep"

// LeaseRequest says how a run is taken.
type LeaseRequest struct {
	// Owner names the process that takes it, for people: host, process, a random part.
	Owner string
	// TTL is the time for which the lease counts without a sign of life. At least a second; the default is 30.
	TTL time.Duration
	// Steal takes the run although the lease of another has not ended.
	Steal bool
	// Create makes the run if there is none.
	Create *NewRun
}

// Due says which runs are looked for: of any of the queues and any of the agents. None means all runs except in
// [OwnQueue].
type Due struct{ Queues, Agents []string }

// RunLeaser hands out runs to one owner at a time.
type RunLeaser interface {
	// Acquire takes a run. A lease that has ended, by the clock of the store, is taken over. It is an error that matches
	// [ErrRunBusy] if another holder has the run or another run has its key, and [ErrCheckPointNotFound] if there is no
	// run and req.Create is nil. A checkpoint or journal that was written without a lease is no run; if Create makes one
	// under its ID, they are the run's.
	Acquire(ctx context.Context, id string, req LeaseRequest) (RunLease, error)
	// AcquireDue takes the run that is due for longest, runs of higher priority first: one that is ready and whose time
	// has come, one that is running with a lease that has ended, or one that is waiting and whose WakeAt has come. It
	// returns [ErrNothingDue] if there is none.
	AcquireDue(ctx context.Context, req LeaseRequest, due Due) (RunLease, error)
}

// RunLease is a run that is held: a store and a journal of exactly this run. Every write checks, in the same atomic step,
// that no other process took the run since, and is otherwise an error that matches [ErrLeaseLost] and has done nothing. A
// lease whose time is over and that was not taken still writes. It is safe for concurrent use. An ID other than the run's
// is an error.
type RunLease interface {
	CheckPointStore
	CheckPointDeleter
	// CheckPointJournal appends renew the lease.
	CheckPointJournal
	// Token is greater than the token of every lease that was handed out before in the store.
	Token() uint64
	// TTL is the time for which the lease counts from a renewal.
	TTL() time.Duration
	// Info is the run as it was when it was taken: the status and the owner are those before. The status of a run that
	// was made by taking it is "".
	Info() RunInfo
	// Renew makes the lease count for its TTL from now on.
	Renew(ctx context.Context) error
	// Settle records the status of the run and gives the lease back, all in one atomic step. Nothing can be written by
	// the lease afterwards.
	Settle(ctx context.Context, s Settlement) error
	// Answers are the answers that were given and are not used up, which Settle does.
	Answers(ctx context.Context) ([]Answer, error)
	// Stops delivers the last request to stop the run. The stores of Weft deliver one of the same process at
	// once, and one of another process within a second; other stores may notice it with the next append or renewal. It is
	// never closed.
	Stops() <-chan StopRequest
}

// SignOfLife is the time at which the last write was begun that made a lease count for its TTL, by the clock of this
// process. A lease that does not say so, by a method of that name, has just been taken.
func SignOfLife(lease RunLease) time.Time {
	if known, ok := lease.(interface{ SignOfLife() time.Time }); ok {
		return known.SignOfLife()
	}
	return time.Now()
}

// StopNotifier is a lease that says that its run is to be stopped by a call, so that no goroutine has to wait for Stops.
type StopNotifier interface {
	// NotifyStops has f called with each request to stop, also with one that came before, in a goroutine of its own. Stops
	// delivers nothing from then on.
	NotifyStops(f func(StopRequest))
}

// NotifyStops has f called with each request to stop of a lease, until over is closed at the latest.
func NotifyStops(lease RunLease, over <-chan struct{}, f func(StopRequest)) {
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
func AbandonLease(lease RunLease) {
	if a, ok := leaseAs[Abandoner](lease); ok {
		a.Abandon()
	}
}

// leaseAs looks for something that a lease offers, or one of those that it wraps.
func leaseAs[T any](lease RunLease) (offered T, ok bool) {
	for lease != nil {
		if offered, ok = lease.(T); ok {
			return offered, true
		}
		wrapper, wraps := lease.(interface{ Unwrap() RunLease })
		if !wraps {
			break
		}
		lease = wrapper.Unwrap()
	}
	return offered, false
}

// Settlement describes the state of a run whose lease is given back.
type Settlement struct {
	// Status of the run. "" gives the lease back and changes nothing but WakeAt, if it is set: the run has the status that
	// it had when it was taken (running, if a lease before had ended without being settled or records were appended), its
	// questions and answers; the other fields are ignored.
	Status RunStatus
	// Waiting are the questions of a run that is waiting. All earlier ones are gone.
	Waiting []WaitPoint
	// Result is the result of a run that is done.
	Result []byte
	// Err is the reason for which it has failed; of a run that is ready, why it is tried again.
	Err string
	// WakeAt is the time at which a run that is ready or waiting becomes due.
	WakeAt time.Time
	// Keep is after how long what is left of the run is removed. 0 is what the store keeps such runs for, a negative
	// time for ever.
	Keep time.Duration
	// Checkpoint replaces the checkpoint, if it is not nil. The checkpoint of a run that is done is removed.
	Checkpoint []byte
	// DropRecords removes the journal: what it had is in the checkpoint, or the run is done.
	DropRecords bool
	// Usage counts the tokens of the run since its beginning. The zero value leaves what the store has.
	Usage RunUsage
	// Children are runs that are submitted in the same step. One that exists is left as it is.
	Children []ChildRun
	// Answer is the answer to the parent's question that waits for this run.
	Answer []byte
	// Cause is the error behind Err, and Infos are the values behind the Info of Waiting, by the ID of the point. They
	// are for leases that are wrapped around the leases of a store, which ignores them.
	Cause error
	Infos map[string]any
}

// ChildRun is a run that another one waits for.
type ChildRun struct {
	ID  string
	Run NewRun
}

// Answer is the answer of a person or program to a question of a run.
type Answer struct {
	// Point is the ID of the interrupt point.
	Point string
	// Data is the answer: JSON, or a value encoded by the type registry. nil says nothing but that it may continue.
	Data []byte
	JSON bool
	// By names the person who answered, in the application's terms. At is the store's.
	By string
	At time.Time
}

// StopRequest asks the holder of a run to stop it.
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

// RunQuery says which runs are listed. What is empty does not matter, but that runs of [OwnQueue] are left out.
type RunQuery struct {
	Status []RunStatus
	// WaitingFor is a person for whom a question without an answer waits, Kind the kind of the question.
	Queue, Agent, Parent, Key, WaitingFor, Kind string
	Tags                                        map[string]string
	CreatedAfter, UpdatedBefore                 time.Time
	// After is the cursor of the last run that was seen (see [RunCursor]). Limit 0 means all.
	After string
	Limit int
}

// RunCursor is the place where a list continues behind a run.
func RunCursor(r RunInfo) string { return fmt.Sprintf("%x.%s", r.Updated.UnixMicro(), r.ID) }

// RunInspector answers questions about runs. It decodes nothing and takes no lease.
type RunInspector interface {
	// Inspect returns what is known of a run, and false if there is none.
	Inspect(ctx context.Context, id string) (RunInfo, bool, error)
	// Result returns the result of a run that is done, nil if there is none.
	Result(ctx context.Context, id string) ([]byte, error)
	// List yields runs, the one updated last first. A run that changes meanwhile may come twice; none that does not change
	// is missed. An error is the last item.
	List(ctx context.Context, q RunQuery) iter.Seq2[RunInfo, error]
	// Count counts runs by status.
	Count(ctx context.Context, q RunQuery) (map[RunStatus]int64, error)
}

// RunInbox submits, answers, stops and continues runs, from any process.
type RunInbox interface {
	// Submit makes a run that is ready, in one atomic step. If there is one with that ID, it changes nothing and returns
	// that run with an error that matches [ErrRunExists]. Runs of one key that are submitted at the same moment are there
	// in the order of their Born.
	Submit(ctx context.Context, id string, run NewRun) (RunInfo, error)
	// Answer answers questions of a run: all of them or, with an error, none. Answers of a run that is paused while it
	// waits are kept until it continues. The error matches [ErrNotWaiting] if the run does not wait for one of the
	// points, [ErrAnswerLate] too if the time of one is over, [ErrAnswered] if one has an answer; of two answers at once
	// one is taken. When no question is left that the run needs an answer to, it is ready.
	Answer(ctx context.Context, id string, answers ...Answer) error
	// Stop asks the holder of a run to stop it, and pauses it if it has no holder. A run that has ended is [ErrRunEnded].
	Stop(ctx context.Context, id string, how StopRequest) error
	// Continue makes a run that is paused ready. One that is ready or running is left as it is.
	Continue(ctx context.Context, id string) error
}

// RunJanitor removes runs.
type RunJanitor interface {
	// Remove removes everything of a run. Without force a run that is held is [ErrRunBusy]; with it, the holder's lease
	// is lost. That there is none is no error.
	Remove(ctx context.Context, id string, force bool) error
	// Sweep removes at most so many runs that have expired, each in one atomic step, and none that is held.
	Sweep(ctx context.Context, limit int) (Swept, error)
}

// Swept reports what a sweep removed and changed. More: there are more.
type Swept struct {
	Runs int
	More bool
}

// EventRetainer is a store of runs whose RunRetention says for how long events of a run stay after its end, for those who
// remove them.
type EventRetainer interface{ EventRetention() time.Duration }

// RunRetention is the time for which runs are kept after they came to a state. 0 is the default, a negative time for ever.
type RunRetention struct {
	Done    time.Duration // default 24 hours
	Failed  time.Duration // default 7 days
	Waiting time.Duration // default for ever
	Paused  time.Duration // default 30 days
	// Events is the time for which the events of a run that has ended are kept, at most as long as the run. The default is
	// an hour.
	Events time.Duration
}

// For returns how long a run in a state is kept, 0 for ever.
func (r RunRetention) For(s RunStatus) time.Duration {
	pick := func(d, otherwise time.Duration) time.Duration {
		if d == 0 {
			d = otherwise
		}
		return max(d, 0)
	}
	const day = 24 * time.Hour
	switch s {
	case RunDone:
		return pick(r.Done, day)
	case RunFailed:
		return pick(r.Failed, 7*day)
	case RunWaiting:
		return pick(r.Waiting, -1)
	case RunPaused:
		return pick(r.Paused, 30*day)
	}
	return 0
}

// ForEvents returns how long the events of a run that has ended are kept, negative for ever. That is no longer than the run:
// another one may have its ID afterwards, and must not continue its events.
func (r RunRetention) ForEvents() time.Duration {
	keep := r.Events
	if keep == 0 {
		keep = time.Hour
	}
	for _, status := range []RunStatus{RunDone, RunFailed} {
		if most := r.For(status); most > 0 && (keep < 0 || keep > most) {
			keep = most
		}
	}
	return keep
}

// RunWaker wakes workers, so that they need not look so often. It is optional.
type RunWaker interface {
	// Wake returns a channel that receives when runs that AcquireDue would find may have become due. It may receive for
	// nothing, and a signal may be missing, so a worker looks now and then nevertheless. Signals that were not received
	// become one. It is in use until the context ends, and is never closed.
	Wake(ctx context.Context, due Due) <-chan struct{}
}

// RunStore is a store that offers everything.
type RunStore interface {
	CheckPointStore
	CheckPointDeleter
	CheckPointLister
	CheckPointJournal
	RunLeaser
	RunInspector
	RunInbox
	RunJanitor
}
