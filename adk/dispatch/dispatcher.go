package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// TypedMaker makes the runner that executes a run of an agent. The runner must use the store that it is given, which is
// the lease of the run, and save every step (adk.EveryStep). An error fails the run, or has it tried again (see
// TypedConfig.Retry); [ErrNotMine] leaves it to other workers.
type TypedMaker[M adk.MessageType] func(
	ctx context.Context, run checkpoint.RunInfo, store checkpoint.Store) (*adk.TypedRunner[M], error)

// TypedAgents makes runners by the name of the agent. Every process should know the same names.
type TypedAgents[M adk.MessageType] map[string]TypedMaker[M]

// ErrNotMine says that this worker does not execute a run, such as one that another build of the program has begun.
// Another worker gets it a few seconds later.
var ErrNotMine = errors.New("this worker does not execute the run")

// Runs is the maker of an agent that is the same for all runs.
func Runs[M adk.MessageType](agent adk.TypedAgent[M]) TypedMaker[M] {
	return func(_ context.Context, _ checkpoint.RunInfo, store checkpoint.Store) (*adk.TypedRunner[M], error) {
		return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{
			Agent: agent, CheckPointStore: store, Durability: adk.EveryStep}), nil
	}
}

// TypedConfig configures a dispatcher. The zero value can submit, answer, stop and inspect runs, and execute none.
type TypedConfig[M adk.MessageType] struct {
	// Agents are those whose runs this process can execute.
	Agents TypedAgents[M]
	// Owner is the name of the process in the store, for people. The default is host, process and a random part.
	Owner string
	// TTL is how long after the death of a process its runs are continued by others. The default is 30 seconds, at least
	// one.
	TTL time.Duration
	// MaxAttempts is how often a run may kill its process, without a step in between, before it fails. The default is 10.
	MaxAttempts int
	// Retry decides whether a run that failed is continued after its last step, and when; failures is how often it failed
	// since it was last undisturbed, at least 1. The default tries again after errors of the store and of connections, and
	// errors that say of themselves that they pass, by a method Retryable() bool, such as those of models with status 429 or
	// 5xx: after 5 seconds, or what a method RetryIn() time.Duration asks for, twice as long each time up to 5 minutes, at
	// most 20 times.
	Retry func(err error, failures int) (after time.Duration, again bool)
	// Secret signs the tokens of webhooks (see [NewWebhook]). All processes must have the same, of at least 16 bytes.
	Secret []byte
	// OnEvent gets each event of the runs that this process executes, in order. A run waits for it. It may read the stream
	// of an event, which is closed when it returns.
	OnEvent func(ctx context.Context, run checkpoint.RunInfo, event *adk.TypedAgentEvent[M])
	// Log records the runs that this process executes, and is what Events reads. All processes must have the same store in
	// theirs. The default is nil: nothing is recorded.
	Log *runlog.Log
	// Context makes the context that a stretch is executed in, such as with the span of run.Trace.
	Context func(ctx context.Context, run checkpoint.RunInfo) context.Context
	// Options are given to the runner with each stretch, beside its own, such as the conversation that the run is a turn of
	// (adk/conversation). An error fails the run, or has it tried again (see Retry).
	Options func(ctx context.Context, run checkpoint.RunInfo) ([]adk.AgentRunOption, error)
	// Metrics counts what happens. The default is nil.
	Metrics Metrics
	// Logger gets, at level Warn, what nobody is there to be given. The default is nil.
	Logger *slog.Logger
}

// Config configures a dispatcher of agents on ordinary messages.
//
// Its fields, which are documented at [TypedConfig]:
//
//   - Agents: whose runs this process can execute
//   - Owner: the name of the process in the store
//   - TTL: how long after a death others continue; default 30 s
//   - MaxAttempts: how often a run may kill its process; default 10
//   - Retry: which failures are tried again
//   - Secret: signs the tokens of webhooks
//   - OnEvent: gets the events of the runs executed here
//   - Log: records the runs executed here, and is what Events reads
//   - Context: makes the context of a stretch
//   - Options: makes options of a stretch
//   - Metrics: counts what happens
//   - Logger: gets warnings
type Config = TypedConfig[*schema.Message]

// Agents is [TypedAgents] for ordinary messages.
type Agents = TypedAgents[*schema.Message]

// TypedDispatcher submits runs, executes them, and is asked about them. It is safe for concurrent use, and has no
// goroutines but those of [TypedDispatcher.Work] and of the runs that it executes.
type TypedDispatcher[M adk.MessageType] struct {
	store checkpoint.RunStore
	conf  TypedConfig[M]

	mu sync.Mutex // guards changed
	// changed is closed, and replaced, when this process has changed a run.
	changed chan struct{}
}

// Dispatcher is a dispatcher of agents on ordinary messages.
//
// Its methods, which are documented at [TypedDispatcher]:
//
//   - Submit: makes a run
//   - Answer, AnswerWebhook: answer questions
//   - WebhookAnswer: makes the answer of a webhook for others
//   - Stop, Continue, Remove: stop a run, have it continue, or remove it
//   - Steps, Fork: read what a run did, and make a run of a part of it
//   - Fail: settles a run that nobody executes
//   - Inspect, List, Wait: ask about runs
//   - Descendants: yields the runs that a run waits for, and theirs
//   - Events: yields what happens in a run, whoever executes it
//   - Stretch: executes one run until it ends or waits
//   - Work: executes what is due
//   - Sweep: removes what is kept no longer
type Dispatcher = TypedDispatcher[*schema.Message]

// Front is what an application needs of runs, whoever executes them.
type Front[M adk.MessageType] interface {
	Submit(ctx context.Context, job TypedJob[M]) (checkpoint.RunInfo, error)
	Answer(ctx context.Context, id string, answers ...checkpoint.Answer) error
	Stop(ctx context.Context, id string, how checkpoint.StopRequest) error
	Inspect(ctx context.Context, id string) (checkpoint.RunInfo, bool, error)
	List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.RunInfo, error]
	Wait(ctx context.Context, id string) (TypedOutcome[M], error)
	Events(ctx context.Context, id string, after runlog.Cursor) iter.Seq2[runlog.Event, error]
}

// Forker is what a [Front] offers if the steps of its runs can be read, and forks of them made and continued. A
// [TypedDispatcher] does.
type Forker interface {
	Steps(ctx context.Context, id string) ([]adk.Step, error)
	Fork(ctx context.Context, id string, o adk.ForkOptions) (checkpoint.RunInfo, error)
	Continue(ctx context.Context, id string) error
}

var _ Forker = (*Dispatcher)(nil)

// New makes a dispatcher on a store. It panics if the store is nil.
func New(store checkpoint.RunStore, conf Config) *Dispatcher { return NewTyped(store, conf) }

// NewTyped is [New] for any kind of message.
func NewTyped[M adk.MessageType](store checkpoint.RunStore, conf TypedConfig[M]) *TypedDispatcher[M] {
	if store == nil {
		panic("dispatch: the store is nil")
	}
	if conf.MaxAttempts <= 0 {
		conf.MaxAttempts = 10
	}
	if conf.Retry == nil {
		conf.Retry = retryPassing
	}
	return &TypedDispatcher[M]{store: store, conf: conf, changed: make(chan struct{})}
}

// notify wakes those in this process who wait for a run to change.
func (d *TypedDispatcher[M]) notify() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.changed = make(chan struct{})
}

// change is closed at the next change.
func (d *TypedDispatcher[M]) change() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Submit makes a run that workers find. If there is one with the ID, it returns that one, with an error that matches
// checkpoint.ErrRunExists. Of several that are submitted at the same moment with one key and [Reject] one is made; with
// [Interrupt] the last one stops the others.
func (d *TypedDispatcher[M]) Submit(ctx context.Context, job TypedJob[M]) (info checkpoint.RunInfo, err error) {
	defer d.notify()
	run, err := job.NewRun()
	if err != nil {
		return info, fmt.Errorf("submit run %q: %w", job.ID, err)
	}
	switch {
	case job.Key != "" && job.OnBusy == Reject:
		return d.submitAlone(ctx, job.ID, run)
	case job.Key != "" && job.OnBusy == Interrupt:
		return d.submitInPlace(ctx, job.ID, run)
	}
	return d.store.Submit(ctx, job.ID, run)
}

// submitAlone submits a run if no other one has its key. The store decides; the look before is for a store that does
// not know checkpoint.NewRun.Alone.
func (d *TypedDispatcher[M]) submitAlone(
	ctx context.Context, id string, run checkpoint.NewRun,
) (checkpoint.RunInfo, error) {
	before, err := d.active(ctx, run.Key, id)
	if err != nil {
		return checkpoint.RunInfo{}, err
	}
	if len(before) > 0 {
		b := before[0]
		return checkpoint.RunInfo{}, fmt.Errorf("submit run %q: run %q has the key %q: %w", id, b.ID, run.Key,
			&checkpoint.BusyError{ID: b.ID, Owner: b.Owner, Until: b.LeaseUntil, Token: b.Token})
	}
	info, err := d.store.Submit(ctx, id, run)
	if errors.Is(err, checkpoint.ErrRunBusy) {
		err = fmt.Errorf("submit run %q: %w", id, err)
	}
	return info, err
}

// submitInPlace submits a run and stops those of its key that were submitted before, also at the same moment: they are
// there when this one is.
func (d *TypedDispatcher[M]) submitInPlace(
	ctx context.Context, id string, run checkpoint.NewRun,
) (checkpoint.RunInfo, error) {
	info, err := d.store.Submit(ctx, id, run)
	if err != nil {
		return info, err
	}
	others, err := d.active(ctx, run.Key, id)
	if err != nil {
		return info, fmt.Errorf("run %q is submitted, and the runs before it could not be looked for: %w", id, err)
	}
	for _, b := range others {
		if info.Born != 0 && b.Born > info.Born { // that one stops this one, if it was to
			continue
		}
		err := d.store.Stop(ctx, b.ID, checkpoint.StopRequest{Reason: "run " + id + " takes its place", Children: true})
		if err != nil && !errors.Is(err, checkpoint.ErrRunEnded) && !errors.Is(err, checkpoint.ErrNotFound) {
			return info, fmt.Errorf("run %q is submitted, and run %q before it could not be stopped: %w", id, b.ID, err)
		}
	}
	return info, nil
}

// active are the runs of a key that keep later ones waiting, but for the one with the ID.
func (d *TypedDispatcher[M]) active(ctx context.Context, key, id string) (runs []checkpoint.RunInfo, err error) {
	q := checkpoint.Query{Key: key, Status: []checkpoint.Status{checkpoint.Ready, checkpoint.Running, checkpoint.Waiting}}
	for info, err := range d.store.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if info.ID != id {
			runs = append(runs, info)
		}
	}
	return runs, nil
}

// Answer answers questions of a run (see adk.EncodeAnswer): all of them or, with an error, none. When the run has what
// it needs, it is due. An answer that the question refuses is an error that matches adk.ErrAnswerRefused (see
// adk.Answerable), if this program registers the type of the question.
func (d *TypedDispatcher[M]) Answer(ctx context.Context, id string, answers ...checkpoint.Answer) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	if err := adk.CheckAnswers(ctx, d.store, id, answers...); err != nil {
		return err
	}
	return d.store.Answer(ctx, id, answers...)
}

// Stop stops a run, wherever it is executed, and with how.Children those that it waits for. It returns when the request
// is in the store; the run is paused a little later, and continues with [TypedDispatcher.Continue].
func (d *TypedDispatcher[M]) Stop(ctx context.Context, id string, how checkpoint.StopRequest) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	err := d.store.Stop(ctx, id, how)
	if !how.Children || err != nil && !errors.Is(err, checkpoint.ErrRunEnded) {
		return err
	}
	return errors.Join(err, d.children(ctx, id, func(child checkpoint.RunInfo) error {
		if err := d.store.Stop(ctx, child.ID, how); err != nil && !errors.Is(err, checkpoint.ErrRunEnded) {
			return err
		}
		return nil
	}))
}

// Continue makes a run that is paused due, or lets it wait for what it waited for. Its children, if they were stopped,
// too, are continued with it.
func (d *TypedDispatcher[M]) Continue(ctx context.Context, id string) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	if err := d.store.Continue(ctx, id); err != nil {
		return err
	}
	return d.children(ctx, id, func(child checkpoint.RunInfo) error {
		if child.Status != checkpoint.Paused {
			return nil
		}
		return d.store.Continue(ctx, child.ID)
	})
}

// Steps reads what is recorded of a run (see adk.Steps): of one that has ended or waits, if the runners that executed it
// keep steps (adk.RunnerConfig.KeepSteps).
func (d *TypedDispatcher[M]) Steps(ctx context.Context, id string) ([]adk.Step, error) {
	return adk.Steps(ctx, d.store, id)
}

// Fork makes a run of the first steps of another one (see adk.Fork), and returns it: it is paused until
// [TypedDispatcher.Continue]. If there is a run with the new ID the error matches checkpoint.ErrRunExists.
func (d *TypedDispatcher[M]) Fork(ctx context.Context, id string, o adk.ForkOptions) (checkpoint.RunInfo, error) {
	defer d.notify()
	if err := errors.Join(notOwn(id), notOwn(o.NewID)); err != nil {
		return checkpoint.RunInfo{}, err
	}
	if err := adk.Fork(ctx, d.store, id, o); err != nil {
		return checkpoint.RunInfo{}, err
	}
	info, exists, err := d.store.Inspect(ctx, o.NewID)
	if err == nil && !exists {
		err = fmt.Errorf("run %q: %w", o.NewID, checkpoint.ErrNotFound)
	}
	return info, err
}

// Remove removes a run and its children, with what is recorded of them. Without force it fails with
// checkpoint.ErrRunBusy, and removes nothing, if one of them is executed.
func (d *TypedDispatcher[M]) Remove(ctx context.Context, id string, force bool) error {
	defer d.notify()
	if notOwn(id) != nil {
		return nil
	}
	info, exists, err := d.store.Inspect(ctx, id)
	switch {
	case errors.Is(err, checkpoint.ErrBadRow), err == nil && !exists:
		info = checkpoint.RunInfo{ID: id}
	case err != nil:
		return err
	}
	family := []checkpoint.RunInfo{info} // its ID is that under which it is recorded
	err = d.children(ctx, info.ID, func(child checkpoint.RunInfo) error {
		family = append(family, child)
		return nil
	})
	if err != nil {
		return err
	}
	if !force {
		for _, run := range family {
			if err := d.checkIdle(ctx, run); err != nil {
				return err
			}
		}
	}
	for _, run := range slices.Backward(family) { // a run is there until its children are gone, and leads to them
		if err := d.store.Remove(ctx, run.ID, force); err != nil {
			return err
		}
		if d.conf.Log != nil {
			if err := d.conf.Log.Delete(ctx, run.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkIdle fails with checkpoint.ErrRunBusy if a run is executed. Only the store knows whether a lease has ended.
func (d *TypedDispatcher[M]) checkIdle(ctx context.Context, run checkpoint.RunInfo) error {
	if run.Owner == "" {
		return nil
	}
	lease, err := d.store.Acquire(ctx, run.ID, d.leaseRequest())
	if err != nil {
		return err
	}
	return lease.Settle(ctx, checkpoint.Settlement{})
}

// Descendants yields the runs that a run waits for or has waited for, and theirs: those of the deepest level, which is
// the 8th at most, last. It ends with the first error.
func (d *TypedDispatcher[M]) Descendants(ctx context.Context, id string) iter.Seq2[checkpoint.RunInfo, error] {
	return func(yield func(checkpoint.RunInfo, error) bool) {
		parents := []string{id}
		for depth := 0; depth < maxDepth && len(parents) > 0; depth++ {
			var next []string
			for _, parent := range parents {
				for child, err := range d.store.List(ctx, checkpoint.Query{Parent: parent}) {
					if err != nil {
						yield(child, fmt.Errorf("children of run %q: %w", parent, err))
						return
					}
					if !yield(child, nil) {
						return
					}
					next = append(next, child.ID)
				}
			}
			parents = next
		}
	}
}

// children does something to all runs below a run, until that fails.
func (d *TypedDispatcher[M]) children(ctx context.Context, id string, do func(checkpoint.RunInfo) error) error {
	for child, err := range d.Descendants(ctx, id) {
		if err != nil {
			return err
		}
		if err := do(child); err != nil {
			return fmt.Errorf("run %q below run %q: %w", child.ID, id, err)
		}
	}
	return nil
}

// Inspect returns what the store knows of a run, and false if there is none.
func (d *TypedDispatcher[M]) Inspect(ctx context.Context, id string) (checkpoint.RunInfo, bool, error) {
	if notOwn(id) != nil {
		return checkpoint.RunInfo{}, false, nil
	}
	return d.store.Inspect(ctx, id)
}

// List yields runs, the one updated last first.
func (d *TypedDispatcher[M]) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.RunInfo, error] {
	return d.store.List(ctx, q)
}

// warn logs what nobody is there to be given.
func (d *TypedDispatcher[M]) warn(ctx context.Context, message string, args ...any) {
	if d.conf.Logger != nil {
		d.conf.Logger.WarnContext(ctx, message, args...)
	}
}
