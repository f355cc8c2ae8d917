package adk

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// CheckPointStore keeps runs by ID. It is the same type as compose.CheckPointStore.
type CheckPointStore = core.CheckPointStore

// CheckPointDeleter is what a store may also offer.
type CheckPointDeleter = core.CheckPointDeleter

// TypedRunnerConfig configures a [TypedRunner].
type TypedRunnerConfig[M MessageType] struct {
	// Agent is what runs.
	Agent TypedAgent[M]
	// EnableStreaming asks the agent for messages as streams.
	EnableStreaming bool
	// CheckPointStore is to keep runs that stopped so that they can go on later. It is not used yet: in this version
	// an interrupt ends an agent's run with an event, and only graphs (package compose) can be resumed.
	CheckPointStore CheckPointStore
}

// RunnerConfig configures a [Runner].
type RunnerConfig = TypedRunnerConfig[*schema.Message]

// TypedRunner runs an agent as the outermost one: each run has a session of its own, and its events say which agent
// speaks. It is safe for concurrent use.
type TypedRunner[M MessageType] struct {
	agent     TypedAgent[M]
	streaming bool
	store     CheckPointStore
}

// Runner runs agents on ordinary messages.
type Runner = TypedRunner[*schema.Message]

// NewRunner makes a runner. It never fails: what is wrong with the configuration is an error event of each run.
func NewRunner(_ context.Context, conf RunnerConfig) *Runner { return NewTypedRunner(conf) }

// NewTypedRunner is [NewRunner] for any kind of message.
func NewTypedRunner[M MessageType](conf TypedRunnerConfig[M]) *TypedRunner[M] {
	return &TypedRunner[M]{agent: conf.Agent, streaming: conf.EnableStreaming, store: conf.CheckPointStore}
}

// Query runs the agent on one user message.
func (r *TypedRunner[M]) Query(ctx context.Context, query string, opts ...AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
	return r.Run(ctx, []M{opsOf[M]().user(query)}, opts...)
}

// Run runs the agent on messages. It returns at once; the run goes on until its end whether or not the events are
// read. An error is the last event. To stop a run, cancel ctx.
func (r *TypedRunner[M]) Run(ctx context.Context, messages []M, opts ...AgentRunOption) (events *AsyncIterator[*TypedAgentEvent[M]]) {
	run := &runnerRun[M]{Context: ctx}
	if r.agent == nil {
		return failed(&TypedAgentEvent[M]{Err: errors.New("runner: the agent is nil: set RunnerConfig.Agent")})
	}
	defer func() {
		if v := recover(); v != nil { // in the methods of a custom agent
			events = run.failed(safe.NewPanicError(v, debug.Stack()))
		}
	}()
	if len(opts) > 0 {
		run.session.add(GetImplSpecificOptions[runnerOptions](nil, opts...).sessionValues)
	}
	name := r.agent.Name(run)
	run.step.agentName = name
	// Clipped, because agents append to the messages, and the caller may use the slice for several runs.
	run.input = TypedAgentInput[M]{Messages: slices.Clip(messages), EnableStreaming: r.streaming}
	opts = optionsFor(name, opts)
	if p, ok := r.agent.(producer[M]); ok {
		return p.produce(run, &run.input, run, opts)
	}
	events = r.agent.Run(run, &run.input, opts...)
	if events == nil {
		return run.failed(errors.New("runner: the agent returned no iterator"))
	}
	return through(events, run)
}

// layer is what surrounds an agent: every event of the agent goes through it, once, on its way to the reader.
type layer[M MessageType] interface {
	pass(e *TypedAgentEvent[M])
}

// producer is an agent of this package: it passes its events through the layer itself, instead of another queue.
type producer[M MessageType] interface {
	produce(ctx context.Context, input *TypedAgentInput[M], outer layer[M], opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
}

// runnerRun is one run, and the context of everything in it.
type runnerRun[M MessageType] struct {
	context.Context
	session session
	step    RunStep
	input   TypedAgentInput[M]
}

func (r *runnerRun[M]) Value(key any) any {
	if _, ok := key.(sessionKey); ok {
		return &r.session
	}
	return r.Context.Value(key)
}

// pass says on an event that does not say it itself which agent speaks.
func (r *runnerRun[M]) pass(e *TypedAgentEvent[M]) {
	if len(e.RunPath) > 0 {
		return
	}
	e.AgentName = r.step.agentName
	e.RunPath = append(e.RunPath, r.step)
}

// failed is the iterator of a run whose agent could not even start.
func (r *runnerRun[M]) failed(err error) *AsyncIterator[*TypedAgentEvent[M]] {
	e := &TypedAgentEvent[M]{Err: err}
	r.pass(e)
	return failed(e)
}

func failed[M MessageType](e *TypedAgentEvent[M]) *AsyncIterator[*TypedAgentEvent[M]] {
	it, gen := NewAsyncIteratorPair[*TypedAgentEvent[M]]()
	gen.Send(e)
	gen.Close()
	return it
}

// through takes the events of any other agent through the layer, when they are read. The layer gets copies: such an
// agent may keep its events, or send one in several runs. Events that are nil are left out.
func through[M MessageType](events *AsyncIterator[*TypedAgentEvent[M]], outer layer[M]) *AsyncIterator[*TypedAgentEvent[M]] {
	return &AsyncIterator[*TypedAgentEvent[M]]{
		take: func() (*TypedAgentEvent[M], bool) {
			for {
				e, ok := events.Next()
				if !ok {
					return nil, false
				}
				if e != nil {
					passed := *e
					outer.pass(&passed)
					return &passed, true
				}
			}
		},
		drop: events.Close,
	}
}
