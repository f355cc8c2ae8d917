package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// rootRun holds what all agents of one run share.
type rootRun[M MessageType] struct {
	session *session
	// input is the input of the outermost agent.
	input   *TypedAgentInput[M]
	options runnerOptions
	// recording: there are agents that may want to see what others said.
	recording atomic.Bool
	// journal is the place where the steps of the run are saved, nil if they are not.
	journal *journal.Journal
	// held is the lease of the run, nil if it has none, and ids names its interrupt points, nil if it is not saved.
	held *heldRun
	ids  *core.InterruptIDs
	// idsRoom holds ids.
	idsRoom core.InterruptIDs
	// origin is the run that this one is a fork of.
	origin      origin
	diagnostics diagnostics
	// loop is the loop that the run is tied to, nil for most.
	loop *loopRun[M]
}

// An execution is one agent at work in a run. It is the context of the agent, and the sink of its events: it says who
// speaks, and remembers what was said and how the agent ended.
type execution[M MessageType] struct {
	context.Context
	run    *rootRun[M]
	parent *execution[M]
	out    sink[M]
	agent  TypedAgent[M]
	flow   *flowAgent // around agent, or nil

	name string
	// path is the way from the outermost agent to this one. It is shared by all events and never written again.
	path    []RunStep
	segment core.AddressSegment
	frame   core.Frame
	lane    *lane[M]
	// scope is the place where the agent is recorded, nil if it is not.
	scope *journal.Scope
	opts  []AgentRunOption
	// view is which cancel the agent has to obey, nil if there is none.
	view *cancelscope.View
	// inherits: the callback handlers of the parent are in the context already.
	inherits bool
	// transfers is the number of times that the run was handed over until this agent got it.
	transfers int

	agentCtx context.Context
	task     task

	// mu guards the fields below, and is held while an event passes, here and in the layers around: tools send theirs at
	// any time. It is taken before the lock of the history, and before the lock of the execution around.
	mu       sync.Mutex
	watchers []*hub[M]
	// witness sees the agent, nil for most. It is set before the agent begins.
	witness runwatch.Agent
	// last is the action of the last event of the agent's own.
	last *AgentAction
}

type executionKey struct{}

// executionFrom returns the innermost execution on M, nil outside a run.
func executionFrom[M MessageType](ctx context.Context) *execution[M] {
	x, _ := ctx.Value(executionKey{}).(*execution[M])
	return x
}

func (x *execution[M]) Value(key any) any {
	switch key.(type) {
	case executionKey:
		return x
	case core.FrameKey:
		return &x.frame
	case sessionKey:
		return x.run.session
	case cancelKey:
		return x.view
	case scopeKey:
		return x.scope
	case fencingKey: // an agent inside a tool has the key of the run around
		if x.run.held != nil {
			return x.run.held
		}
	case core.InterruptIDsKey:
		return x.run.ids
	case runIDKey:
		if id := x.run.options.checkPointID; id != nil {
			return *id
		}
	case forkKey:
		if x.run.origin.Run != "" {
			return &runFork{x.run.origin, x.run.ids.Seed}
		}
	case core.AnswerErrorKey:
		return x.run.diagnostics.answerError(x.Context)
	}
	return x.Context.Value(key)
}

// ClearRunCtx returns a context for a run of its own inside another: session values are hidden, and the next agent is
// an outermost one, which gets its own input. Address, cancellation and callbacks stay. Of nil it is nil.
func ClearRunCtx(ctx context.Context) context.Context {
	if ctx == nil {
		return nil
	}
	return clearedRun{ctx}
}

type clearedRun struct{ context.Context }

func (c clearedRun) Value(key any) any {
	switch key.(type) {
	case executionKey, sessionKey:
		return nil
	}
	return c.Context.Value(key)
}

// setAgent finds out whom the execution is about.
func (x *execution[M]) setAgent(agent TypedAgent[M]) {
	agent = worker(agent)
	x.agent = agent
	if f, ok := any(agent).(*flowAgent); ok {
		x.flow = f
		x.agent = any(f.agent).(TypedAgent[M])
	}
	x.name = agent.Name(x.Context)
	x.segment.Type, x.segment.ID = AddressSegmentAgent, x.name
	x.frame = core.FrameFrom(x.Context).Enter(x.Context, &x.segment)
}

// worker is the agent of this package that does the work of one around it, which says so by a method ADK, as weft.Agent
// does; any other agent is itself. Executed in its place it has the run to itself: its events pass once.
func worker[M MessageType](agent TypedAgent[M]) TypedAgent[M] {
	if around, ok := agent.(interface{ ADK() TypedResumableAgent[M] }); ok {
		if inner := around.ADK(); inner != nil {
			return worker[M](inner)
		}
	}
	return agent
}

// child makes the execution of an agent below x. ctx is the context of x's agent, or x itself for one that takes over.
func (x *execution[M]) child(
	ctx context.Context, agent TypedAgent[M], out sink[M], opts []AgentRunOption,
) *execution[M] {
	return x.childAt(ctx, "", agent, out, opts)
}

// childAt is child for one of several agents of one name that work at the same time: place tells their addresses apart.
func (x *execution[M]) childAt(
	ctx context.Context, place string, agent TypedAgent[M], out sink[M], opts []AgentRunOption,
) *execution[M] {
	c := &execution[M]{Context: ctx, run: x.run, parent: x, out: out, lane: x.lane, scope: x.scope, opts: opts, view: x.view.Nested()}
	if c.lane == nil { // an agent that is run by a hook or tool of one that is alone
		c.lane = newLane[M]()
	}
	c.segment.SubID = place
	c.setAgent(agent)
	c.path = append(slices.Clip(x.path), RunStep{agentName: c.name})
	return c
}

// begin makes the agent start, with a new input or to continue. Hooks and custom agents may run user code here.
func (x *execution[M]) begin(input *TypedAgentInput[M], resume *ResumeInfo) task {
	x.task = x.started(input, resume)
	return x
}

func (x *execution[M]) started(input *TypedAgentInput[M], resume *ResumeInfo) (t task) {
	defer func() {
		if v := recover(); v != nil {
			t = x.failing(x.failed(safe.NewPanicError(v, debug.Stack())))
		}
	}()
	x.agentCtx = x
	x.warnOfAgentNames()
	var err error
	if resume == nil {
		input, err = x.inputOf(input)
	}
	if callbackErr := x.fireStart(input, resume); err == nil && callbackErr != nil {
		err = x.failed(fmt.Errorf("a callback handler failed: %w", callbackErr))
	}
	if err != nil {
		return x.failing(err)
	}
	do := assignment[M]{input: input, resume: resume, out: x, opts: x.optionsForAgent()}
	if s, ok := x.agent.(starter[M]); ok {
		return s.begin(x.agentCtx, do)
	}
	return beginCustom(x.agentCtx, x.agent, do)
}

// optionsForAgent returns the options that reach the agent; the agents in a workflow choose theirs themselves.
func (x *execution[M]) optionsForAgent() []AgentRunOption {
	if _, ok := x.agent.(interface{ passesOptionsOn() }); ok {
		return x.opts
	}
	return optionsFor(x.name, x.opts)
}

// execute lets the agent work to its end, and the agents that it hands the run over to.
func (x *execution[M]) execute() {
	x.work()
	if x.flow != nil {
		handOver(any(x).(*execution[*schema.Message]))
	}
}

// work lets the agent itself work. A panic becomes an error event.
func (x *execution[M]) work() {
	defer func() {
		if v := recover(); v != nil {
			x.send(&TypedAgentEvent[M]{Err: x.failed(safe.NewPanicError(v, debug.Stack()))})
		}
		x.closeWatchers()
	}()
	x.task.execute()
}

// failed says which agent failed.
func (x *execution[M]) failed(err error) error { return fmt.Errorf("agent '%s': %w", x.name, err) }

// failing is a task that only emits an error.
func (x *execution[M]) failing(err error) task { return failing[M]{x, err} }

type failing[M MessageType] struct {
	out sink[M]
	err error
}

func (f failing[M]) execute() { f.out.send(&TypedAgentEvent[M]{Err: f.err}) }

// inputOf returns the input of the agent: the input of the run for the outermost one, otherwise what was said up to now.
func (x *execution[M]) inputOf(given *TypedAgentInput[M]) (*TypedAgentInput[M], error) {
	if x.parent == nil && (x.flow == nil || x.flow.rewriter == nil) && len(x.run.options.history) == 0 {
		return given, nil
	}
	ordinary, ok := any(x).(*execution[*schema.Message])
	if !ok {
		return given, nil
	}
	rebuilt, err := rebuildInput(ordinary)
	if err != nil {
		return nil, err
	}
	return any(rebuilt).(*TypedAgentInput[M]), nil
}

// beginCustom starts an agent that is not of this package.
func beginCustom[M MessageType](ctx context.Context, agent TypedAgent[M], do assignment[M]) task {
	var events *AsyncIterator[*TypedAgentEvent[M]]
	if do.resume == nil {
		events = agent.Run(ctx, do.input, do.opts...)
	} else {
		resumable, ok := agent.(TypedResumableAgent[M])
		if !ok {
			return failing[M]{do.out, notResumable(agent.Name(ctx))}
		}
		events = resumable.Resume(ctx, do.resume, do.opts...)
	}
	if events == nil {
		return failing[M]{do.out, errors.New("the agent returned no iterator")}
	}
	return customRun[M]{ctx: ctx, events: events, out: do.out}
}

// customRun takes the events of an agent that runs by itself. The layers get copies: such an agent may keep its events,
// or send one in several runs.
type customRun[M MessageType] struct {
	ctx    context.Context
	events *AsyncIterator[*TypedAgentEvent[M]]
	out    sink[M]
}

func (c customRun[M]) execute() {
	defer c.events.Close()
	for {
		e, ok := c.events.Next()
		if !ok {
			return
		}
		if e != nil {
			passed := *e
			passed.Err = withContextEnd(c.ctx, e.Err)
			c.out.send(&passed)
		}
	}
}

// diagnosticsFrom returns the diagnostics of the run around, which do nothing in a run without a runner.
func diagnosticsFrom[M MessageType](ctx context.Context) diagnostics {
	x := executionFrom[M](ctx)
	if x == nil {
		return diagnostics{}
	}
	return x.run.diagnostics
}
