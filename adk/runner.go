package adk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// CheckPointStore keeps runs by ID. It is the same type as compose.CheckPointStore. Package adk/checkpoint has some. Its
// methods are
//
//	Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error)
//	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
type CheckPointStore = core.CheckPointStore

// CheckPointDeleter is an optional interface of stores. Its method is
//
//	Delete(ctx context.Context, checkPointID string) error
type CheckPointDeleter = core.CheckPointDeleter

// ErrCheckpointStoreNil says that something needs a store and has none.
var ErrCheckpointStoreNil = errors.New("checkpoint store is nil")

// TypedRunnerConfig configures a [TypedRunner].
type TypedRunnerConfig[M MessageType] struct {
	// Agent is the agent that runs.
	Agent TypedAgent[M]
	// EnableStreaming asks the agent for messages as streams.
	EnableStreaming bool
	// CheckPointStore keeps runs that stopped, so that they can continue later: those with [WithCheckPointID].
	CheckPointStore CheckPointStore
	// Durability says when they are saved.
	Durability Durability
	// Lease says how the runner holds its runs, if the store hands out leases: each run is then executed by one process
	// at a time, and its end is kept for as long as the store keeps it.
	Lease LeaseOptions
	// KeepEnded is the time for which the end of a run is kept in a store that does not hand out leases: Resume emits the
	// last message again then. The default is not at all: a run that has ended looks like one that never was.
	KeepEnded time.Duration
	// KeepSteps keeps the steps of runs that stop or end, for [Steps] and [Fork], until the run itself is removed. It
	// needs [EveryStep] and a store that offers [runs.Journal]. The end of a run is kept with its steps: Resume emits
	// the last message again.
	KeepSteps bool
	// Logger gets, at level Warn, what a run cannot report otherwise: resume targets that do not exist, options that name
	// agents but act on the whole run, tools and agents that share a name, and calls of models and tools that were given
	// up by a cancel and may still be running. The default is nil: nothing is logged.
	Logger *slog.Logger
}

// RunnerConfig configures a [Runner].
//
// Its fields, which are documented at [TypedRunnerConfig]:
//
//   - Agent: what runs; required
//   - EnableStreaming: asks the agent for messages as streams
//   - CheckPointStore: keeps runs that stopped, for Resume
//   - Durability: when they are saved; default: when they are interrupted
//   - Lease: how runs are held in a store that several processes share; see [LeaseOptions]
//   - KeepEnded: for how long a store without leases keeps the end of a run; default: not at all
//   - KeepSteps: keeps the steps of runs that stop or end, for [Steps] and [Fork]
//   - Logger: gets warnings that a run has no other place for; default none
type RunnerConfig = TypedRunnerConfig[*schema.Message]

// TypedRunner runs an agent as the outermost one: each run has a session of its own, its events say which agent
// speaks, and it can be saved and resumed. It is safe for concurrent use.
type TypedRunner[M MessageType] struct {
	agent       TypedAgent[M]
	streaming   bool
	store       CheckPointStore
	durable     bool
	lease       LeaseOptions
	keepEnded   time.Duration
	keepSteps   bool
	diagnostics diagnostics
}

// Runner runs agents on ordinary messages.
//
// Its methods, which are documented at [TypedRunner]:
//
//   - Query: runs the agent on one user message and returns the events
//   - Run: runs the agent on messages
//   - Resume: continues a run that was saved under an ID
//   - ResumeWithParams: continues it with answers for its interrupt points; see [ResumeParams]
type Runner = TypedRunner[*schema.Message]

// NewRunner makes a runner. It never fails: what is wrong with the configuration is an error event of each run.
func NewRunner(_ context.Context, conf RunnerConfig) *Runner { return NewTypedRunner(conf) }

// NewTypedRunner is [NewRunner] for any kind of message.
func NewTypedRunner[M MessageType](conf TypedRunnerConfig[M]) *TypedRunner[M] {
	return &TypedRunner[M]{agent: conf.Agent, streaming: conf.EnableStreaming, store: conf.CheckPointStore,
		lease: conf.Lease, keepEnded: conf.KeepEnded, keepSteps: conf.KeepSteps,
		diagnostics: diagnostics{conf.Logger}, durable: conf.Durability == EveryStep && !isNilStore(conf.CheckPointStore)}
}

// Query runs the agent on one user message.
func (r *TypedRunner[M]) Query(
	ctx context.Context, query string, opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return r.Run(ctx, []M{messageRuntimeOf[M]().userMessage(query)}, opts...)
}

// Run runs the agent on messages. It returns when the agent has begun; the run continues to its end whether or not the
// events are read. An error is the last event. To stop a run, cancel ctx, or see [WithCancel].
func (r *TypedRunner[M]) Run(
	ctx context.Context, messages []M, opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return runtimeOf[M]().run(ctx, r, messages, opts)
}

func (compiledMessages[M]) userMessage(text string) M { return opsOf[M]().user(text) }

func (compiled[M]) run(
	ctx context.Context, r *TypedRunner[M], messages []M, opts []AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	run, err := newRunnerRun(ctx, r, opts)
	if err != nil {
		endCancels(opts)
		return run.hub.refuse(err)
	}
	run.session.add(run.root.options.sessionValues)
	// Clipped, because agents append to the messages, and the caller may use the slice for several runs.
	run.input = TypedAgentInput[M]{Messages: slices.Clip(messages), EnableStreaming: r.streaming}
	run.root.input = &run.input
	if err := run.openJournal(); err != nil {
		err = run.lostOr(err)
		run.release()
		run.gate.end()
		return run.hub.refuse(err)
	}
	if err := run.beginTurn(opts); err != nil {
		err = errors.Join(run.lostOr(err), run.withdraw())
		run.gate.end()
		return run.hub.refuse(err)
	}
	return run.start()
}

// ResumeParams says what a resumed run is given.
type ResumeParams struct {
	// Targets has data for interrupt points, by their ID (see InterruptCtx). A point that is not among them interrupts
	// again; IDs that do not exist are ignored.
	Targets map[string]any
}

// Resume continues with the run that was saved under checkPointID, and names no interrupt point: what stopped finds out
// that it was interrupted, and decides for itself. If it stops again, it is saved under the same ID. If it ends, the
// checkpoint stays as it was, and resuming it again repeats what came after it; a run that is saved at every step
// ([EveryStep]) deletes its checkpoint when it succeeds. The streaming mode is the saved run's; agent, models
// and tools may be new ones of the same names.
func (r *TypedRunner[M]) Resume(
	ctx context.Context, checkPointID string, opts ...AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return r.ResumeWithParams(ctx, checkPointID, nil, opts...)
}

// ResumeWithParams is [TypedRunner.Resume] with data for chosen interrupt points. nil params name none.
func (r *TypedRunner[M]) ResumeWithParams(
	ctx context.Context, checkPointID string, params *ResumeParams, opts ...AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return runtimeOf[M]().resume(ctx, r, checkPointID, params, opts)
}

func (compiled[M]) resume(
	ctx context.Context, r *TypedRunner[M], checkPointID string, params *ResumeParams, opts []AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	run, err := newRunnerRun(ctx, r, opts)
	if err != nil {
		endCancels(opts)
		return nil, err
	}
	run.root.options.checkPointID = &checkPointID
	switch err = run.reopen(checkPointID, params); {
	case err != nil:
		err = run.lostOr(err)
		run.release()
		run.gate.end()
		return nil, err
	case run.ended != nil:
		return run.replayEnd(ctx)
	}
	if err := run.beginTurn(opts); err != nil {
		err = run.lostOr(err)
		run.release()
		run.gate.end()
		return nil, fmt.Errorf("failed to resume: %w", err)
	}
	run.session.add(run.root.options.sessionValues)
	return run.start(), nil
}

// isNilStore reports whether there is no store, also where a nil pointer was given as one.
func isNilStore(store CheckPointStore) bool {
	v := reflect.ValueOf(store)
	return store == nil || v.Kind() == reflect.Pointer && v.IsNil()
}
