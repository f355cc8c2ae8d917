package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TypedRunnerFunc makes the runner that executes a run of an agent. The runner must use the store that it is given, which is
// the lease of the run, and save every step (adk.EveryStep). An error fails the run, or has it tried again (see
// TypedConfig.Retry); [ErrWrongWorker] leaves it to other workers.
type TypedRunnerFunc[M adk.MessageType] func(
	ctx context.Context, run runs.Info, store checkpoint.Store) (*adk.TypedRunner[M], error)

// TypedAgents makes runners by the name of the agent. Every process should know the same names.
type TypedAgents[M adk.MessageType] map[string]TypedRunnerFunc[M]

// ErrWrongWorker reports that this worker cannot execute a run, such as one that another build of the program has begun. The
// run is released, and another worker takes it a few seconds later.
var ErrWrongWorker = errors.New("this worker does not execute the run")

// Runs is the maker of an agent that is the same for all runs.
func RunnerOf[M adk.MessageType](agent adk.TypedAgent[M]) TypedRunnerFunc[M] {
	return func(_ context.Context, _ runs.Info, store checkpoint.Store) (*adk.TypedRunner[M], error) {
		return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{
			Agent: agent, CheckPointStore: store, Durability: adk.EveryStep}), nil
	}
}

// TypedConfig configures a dispatcher. The zero value can submit, answer, stop and inspect runs, and execute none.
type TypedConfig[M adk.MessageType] struct {
	// Agents lists the agents whose runs this process can execute.
	Agents TypedAgents[M]
	// Owner is the name of the process in the store, for people. The default is host, process and a random part.
	Owner string
	// TTL is the time after the death of a process at which others continue its runs. The default is 30 seconds, at least
	// one.
	TTL time.Duration
	// MaxAttempts limits the number of times that a run kills its process without a step in between; then it fails. The
	// default is 10. From a third of it on, a process executes one such run at a time, until that makes a step: so that
	// those do not fail which only died with it.
	MaxAttempts int
	// Retry decides whether a run that failed is continued after its last step, and when; failures is how often it failed
	// since it was last undisturbed, at least 1. The default tries again after errors of the store and of connections,
	// and errors that say of themselves that they pass, by a method Retryable() bool, such as errors of models with
	// status 429 or 5xx: after 5 seconds, or what a method RetryIn() time.Duration asks for, twice as long each time up
	// to 5 minutes, at most 20 times.
	Retry func(err error, failures int) (after time.Duration, again bool)
	// Secret signs the tokens of webhooks (see [NewWebhook]). All processes must have the same, of at least 16 bytes.
	Secret []byte
	// OnEvent gets each event of the runs that this process executes, in order. A run waits for it. It may read the stream
	// of an event, which is closed when it returns.
	OnEvent func(ctx context.Context, run runs.Info, event *adk.TypedAgentEvent[M])
	// Log records the runs that this process executes, and is what Events reads. All processes must have the same store in
	// theirs. The default is nil: nothing is recorded.
	Log *runlog.Log
	// Context makes the context that a stretch is executed in, such as with the span of run.Trace.
	Context func(ctx context.Context, run runs.Info) context.Context
	// Options are given to the runner with each stretch, beside its own, such as the conversation that the run is a turn of
	// (adk/conversation). An error fails the run, or has it tried again (see Retry).
	Options func(ctx context.Context, run runs.Info) ([]adk.AgentRunOption, error)
	// Metrics counts what happens. The default is nil.
	Metrics Metrics
	// Logger gets, at level Warn, errors that no caller is there to receive. The default is nil.
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
// goroutines but the ones of [TypedDispatcher.Work] and of the runs that it executes.
type TypedDispatcher[M adk.MessageType] struct {
	store runs.Store
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
//   - Reply, ReplyWebhook: reply to questions
//   - WebhookReply: makes the reply of a webhook for others
//   - Stop, Continue, Remove: stop a run, have it continue, or remove it
//   - Steps, Fork: read what a run did, and make a run of a part of it
//   - Fail: settles a run that no worker executes
//   - Inspect, List, Count, Wait: ask about runs
//   - Descendants: yields the runs that a run waits for, and theirs
//   - Events: yields what happens in a run, whichever process executes it
//   - Execute: executes one run until it ends or waits
//   - Work: executes what is due
//   - Sweep: removes what is kept no longer
type Dispatcher = TypedDispatcher[*schema.Message]

// Client submits runs, answers and stops them, and reads what they do, whichever process executes them.
type Client[M adk.MessageType] interface {
	Submit(ctx context.Context, job TypedJob[M]) (runs.Info, error)
	Reply(ctx context.Context, id string, answers ...runs.Reply) error
	Stop(ctx context.Context, id string, how runs.StopRequest) error
	Inspect(ctx context.Context, id string) (runs.Info, bool, error)
	List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error]
	Wait(ctx context.Context, id string) (TypedResult[M], error)
	Events(ctx context.Context, id string, after runs.Cursor) iter.Seq2[runlog.Event, error]
}

// Forker reads the steps of runs, and makes and continues forks of them. A [Client] may offer it. A
// [TypedDispatcher] does.
type Forker interface {
	Steps(ctx context.Context, id string) ([]adk.Step, error)
	Fork(ctx context.Context, id string, o adk.ForkOptions) (runs.Info, error)
	Continue(ctx context.Context, id string) error
}

// RunCounter counts runs by their status without listing them. A [Client] may offer it. A [TypedDispatcher] does.
type RunCounter interface {
	Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error)
}

var (
	_ Forker     = (*Dispatcher)(nil)
	_ RunCounter = (*Dispatcher)(nil)
)

// New makes a dispatcher on a store. It panics if the store is nil.
func New(store runs.Store, conf Config) *Dispatcher { return NewTyped(store, conf) }

// NewTyped is [New] for any kind of message.
func NewTyped[M adk.MessageType](store runs.Store, conf TypedConfig[M]) *TypedDispatcher[M] {
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

// Reply replies to questions of a run, with replies that the methods of [runs.Question] make, or of a Value: all of them or,
// with an error, none. When the run has what it needs, it is due. A reply that the question refuses is an error that matches
// runs.ErrRefused (see runs.Checker), if this program registers the type of the question.
func (d *TypedDispatcher[M]) Reply(ctx context.Context, id string, replies ...runs.Reply) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	if err := adk.CheckReplies(ctx, d.store, id, replies...); err != nil {
		return err
	}
	return d.store.Reply(ctx, id, replies...)
}

// Stop stops a run, wherever it is executed, and with how.Children those that it waits for. It returns when the request
// is in the store; the run is paused a little later, and continues with [TypedDispatcher.Continue].
func (d *TypedDispatcher[M]) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	defer d.notify()
	if err := notOwn(id); err != nil {
		return err
	}
	err := d.store.Stop(ctx, id, how)
	if !how.Children || err != nil && !errors.Is(err, runs.ErrEnded) {
		return err
	}
	return errors.Join(err, d.children(ctx, id, func(child runs.Info) error {
		if err := d.store.Stop(ctx, child.ID, how); err != nil && !errors.Is(err, runs.ErrEnded) {
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
	return d.children(ctx, id, func(child runs.Info) error {
		if child.Status != runs.Paused {
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
// [TypedDispatcher.Continue]. If there is a run with the new ID the error matches runs.ErrExists.
func (d *TypedDispatcher[M]) Fork(ctx context.Context, id string, o adk.ForkOptions) (runs.Info, error) {
	defer d.notify()
	if err := errors.Join(notOwn(id), notOwn(o.NewID)); err != nil {
		return runs.Info{}, err
	}
	if err := adk.Fork(ctx, d.store, id, o); err != nil {
		return runs.Info{}, err
	}
	info, exists, err := d.store.Inspect(ctx, o.NewID)
	if err == nil && !exists {
		err = fmt.Errorf("run %q: %w", o.NewID, runs.ErrNotFound)
	}
	return info, err
}

// Inspect returns what the store knows of a run, and false if there is none.
func (d *TypedDispatcher[M]) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	if notOwn(id) != nil {
		return runs.Info{}, false, nil
	}
	return d.store.Inspect(ctx, id)
}

// List yields runs, the one updated last first.
func (d *TypedDispatcher[M]) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return d.store.List(ctx, q)
}

// Count counts runs by status; the After and Limit of the query do not matter.
func (d *TypedDispatcher[M]) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	return d.store.Count(ctx, q)
}

// warn logs an error that no caller is there to receive.
func (d *TypedDispatcher[M]) warn(ctx context.Context, message string, args ...any) {
	if d.conf.Logger != nil {
		d.conf.Logger.WarnContext(ctx, message, args...)
	}
}
