package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weftgo/weft/schema"
)

// SequentialAgentConfig configures a sequential agent.
type SequentialAgentConfig struct {
	Name, Description string
	// SubAgents run one after another. Each sees what those before it said.
	SubAgents []Agent
}

// LoopAgentConfig configures a loop agent.
type LoopAgentConfig struct {
	Name, Description string
	// SubAgents run one after another, again and again, until one of them exits or breaks the loop
	// ([NewBreakLoopAction]).
	SubAgents []Agent
	// MaxIterations limits the rounds. 0 means no limit.
	MaxIterations int
}

// The states of interrupted workflows.
type (
	sequentialState struct {
		// Order are the agents of the chain as they were to run, of a loop in this round, and InterruptIndex says which one ran.
		Order          []string
		InterruptIndex int
	}
	loopState struct {
		Order                         []string
		LoopIterations, SubAgentIndex int
		// Broken: the running agent has broken the loop, which ends with it.
		Broken bool
	}
)

func init() {
	schema.RegisterName[*WorkflowInterruptInfo]("_eino_adk_workflow_interrupt_info")
	schema.RegisterName[*sequentialState]("eino_adk_sequential_workflow_state")
	schema.RegisterName[*loopState]("eino_adk_loop_workflow_state")
}

// NewSequentialAgent makes an agent that runs others one after another. It ends early when one of them fails, exits
// or is interrupted.
func NewSequentialAgent(ctx context.Context, config *SequentialAgentConfig) (ResumableAgent, error) {
	if config == nil {
		return nil, errors.New("NewSequentialAgent: the config is nil")
	}
	w := &chainAgent{workflow: workflow{name: config.Name, description: config.Description}, rounds: 1}
	return w.complete(ctx, w, config.SubAgents)
}

// NewLoopAgent makes an agent that runs others one after another, again and again.
func NewLoopAgent(ctx context.Context, config *LoopAgentConfig) (ResumableAgent, error) {
	if config == nil {
		return nil, errors.New("NewLoopAgent: the config is nil")
	}
	w := &chainAgent{workflow: workflow{name: config.Name, description: config.Description}, loop: true, rounds: config.MaxIterations}
	return w.complete(ctx, w, config.SubAgents)
}

// workflow holds what workflow agents have in common.
type workflow struct {
	name, description string
	children          []*flowAgent
}

func (w *workflow) Name(_ context.Context) string        { return w.name }
func (w *workflow) Description(_ context.Context) string { return w.description }

// passesOptionsOn: options designate the children.
func (w *workflow) passesOptionsOn() {}

// complete adds the children to the agent that w is part of.
func (w *workflow) complete(ctx context.Context, self Agent, subAgents []Agent) (ResumableAgent, error) {
	f := toFlow(ctx, self)
	for i, sub := range subAgents {
		if sub == nil {
			return nil, fmt.Errorf("agent '%s': the sub-agent at index %d is nil", w.name, i)
		}
		child := toFlow(ctx, sub, WithDisallowTransferToParent())
		if err := child.adoptedBy(ctx, f); err != nil {
			return nil, fmt.Errorf("agent '%s': sub-agent at index %d: %w", w.name, i, err)
		}
		w.children = append(w.children, child)
	}
	return f, nil
}

// noState is the error of a workflow that is resumed without what it left.
func (w *workflow) noState(state any) error {
	if state == nil {
		return fmt.Errorf("workflow agent '%s' was asked to resume but has no state", w.name)
	}
	return fmt.Errorf("workflow agent '%s': unsupported workflow agent state type: %T", w.name, state)
}

// chainAgent runs its children in turn: once, or in a loop.
type chainAgent struct {
	workflow
	loop   bool
	rounds int // 0 for a loop without end
}

// GetType returns "Sequential" or "Loop".
func (w *chainAgent) GetType() string {
	if w.loop {
		return "Loop"
	}
	return "Sequential"
}

// Run runs the workflow by itself.
func (w *chainAgent) Run(ctx context.Context, input *AgentInput, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	return launch(ctx, w, assignment[Message]{input: input, opts: opts})
}

// Resume continues an interrupted workflow.
func (w *chainAgent) Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	return launch(ctx, w, assignment[Message]{resume: info, opts: opts})
}

func (w *chainAgent) begin(ctx context.Context, do assignment[Message]) task {
	r := &chainRun{agent: w, ctx: ctx, do: do, parent: executionFrom[Message](ctx)}
	if r.parent == nil {
		return failing[Message]{do.out, fmt.Errorf("workflow agent '%s': its context has no run: begin it with Run, or by a Runner", w.name)}
	}
	r.path = slices.Clip(r.parent.path)
	if do.resume == nil {
		if err := w.checkRecorded(r.ctx, r.parent.scope, w.chainParts); err != nil {
			return failing[Message]{do.out, err}
		}
		r.plan = w.all(r.ctx)
		return r
	}
	var order []string
	switch state := do.resume.InterruptState.(type) {
	case *sequentialState:
		order, r.index = state.Order, state.InterruptIndex
	case *loopState:
		order, r.round, r.index, r.broken = state.Order, state.LoopIterations, state.SubAgentIndex, state.Broken
	default:
		return failing[Message]{do.out, w.noState(state)}
	}
	if r.index < 0 || r.index >= len(order) || r.round < 0 {
		return failing[Message]{do.out, fmt.Errorf("workflow agent '%s': its state is damaged, or was written by a build that was "+
			"not released: begin the run anew", w.name)}
	}
	if err := r.continueIn(order); err != nil {
		return failing[Message]{do.out, err}
	}
	return r
}

// chainRun is one run of a chain of agents.
type chainRun struct {
	agent  *chainAgent
	ctx    context.Context
	do     assignment[Message]
	parent *execution[Message]

	round int
	// plan are the agents of this round in the order in which they run, and index says whose turn it is.
	plan  []planned
	index int
	// path leads over all agents that have run to the one that runs.
	path []RunStep
	// resuming: the agent at index may have been interrupted.
	resuming bool

	// What the agent at index has done.
	failed    bool
	broken    bool
	exited    bool // by its last event, or by the last event of an agent inside
	interrupt *AgentEvent
}

func (r *chainRun) execute() {
	w := r.agent
	for ; w.rounds == 0 || r.round < w.rounds; r.round++ {
		for ; r.index < len(r.plan); r.index++ {
			x := r.next(r.plan[r.index])
			// An agent that is resumed is inside, not at a transition: only it knows what it has done.
			resumes := r.resuming && x.wasInterrupted()
			r.resuming = false
			if !resumes && r.parent.view.Requested() {
				if !r.parent.view.IsAbortOnly() {
					r.do.out.send(CompositeInterrupt(r.ctx, w.GetType()+" workflow cancel at transition", r.state()))
				}
				return
			}
			if err := contextEnd(r.ctx); err != nil && !resumes { // the agents may not look, and a loop has no end
				r.do.out.send(&AgentEvent{Err: r.parent.failed(err)})
				return
			}
			if stop := r.runChild(x, resumes); stop {
				return
			}
		}
		r.plan, r.index = w.all(r.ctx), 0
		if len(w.children) == 0 {
			return
		}
	}
}

// next makes the execution of the next agent.
func (r *chainRun) next(p planned) *execution[Message] {
	x := r.parent.child(r.ctx, r.agent.children[p.child], r, r.do.opts)
	x.inherits = true
	if x.scope != nil { // an agent is recorded again in each round, and for each of its places in the chain
		x.scope = x.scope.Inside(r.agent.part(strconv.Itoa(r.round), p.agentPlace))
	}
	r.path = append(r.path, RunStep{agentName: x.name}) // shares memory with the paths before it
	x.path = r.path[:len(r.path):len(r.path)]
	return x
}

// runChild runs one agent and reports whether the chain ends with it.
func (r *chainRun) runChild(x *execution[Message], resumes bool) (stop bool) {
	if resumes {
		x.beginResume(r.do.resume.EnableStreaming).execute()
	} else {
		x.begin(nil, nil).execute()
	}
	return r.ended()
}

// ended decides how the chain continues after an agent.
func (r *chainRun) ended() (stop bool) {
	if r.interrupt != nil {
		r.do.out.send(r.composite())
		return true
	}
	return r.failed || r.broken || r.exited
}

// send passes the events of the running agent on.
func (r *chainRun) send(e *AgentEvent) {
	if e.origin == originInner {
		r.do.out.send(e)
		return
	}
	if e.Err != nil {
		r.failed = true
	}
	r.exited = e.Action != nil && e.Action.Exit
	if a := e.Action; a != nil {
		if a.Interrupted != nil {
			r.interrupt = e
			return
		}
		if b := a.BreakLoop; r.agent.loop && b != nil && !b.Done && !r.broken {
			r.broken = true
			action, done := *a, *b
			done.Done, done.CurrentIterations = true, r.round
			action.BreakLoop = &done
			e.Action = &action
		}
	}
	r.do.out.send(e)
}

// composite returns the interrupt of the chain, around the interrupt of the running agent.
func (r *chainRun) composite() *AgentEvent {
	data := &WorkflowInterruptInfo{
		OrigInput:                r.do.input,
		SequentialInterruptIndex: r.index,
		SequentialInterruptInfo:  r.interrupt.Action.Interrupted,
		LoopIterations:           r.round,
	}
	e := CompositeInterrupt(r.ctx, r.agent.GetType()+" workflow interrupted", r.state(), signalsOf(r.interrupt)...)
	e.AgentName, e.RunPath = r.interrupt.AgentName, r.interrupt.RunPath
	e.Action.Interrupted.Data = data
	return e
}

// state returns what the chain needs to continue at the running agent.
func (r *chainRun) state() any {
	order := make([]string, len(r.plan))
	for i, p := range r.plan {
		order[i] = p.name
	}
	if r.agent.loop {
		return &loopState{Order: order, LoopIterations: r.round, SubAgentIndex: r.index, Broken: r.broken}
	}
	return &sequentialState{Order: order, InterruptIndex: r.index}
}

// signalsOf returns the interrupt of an event.
func signalsOf(e *AgentEvent) []*InterruptSignal {
	signal := signalOf(e)
	switch {
	case signal == nil:
		return nil
	case signal.ID == "":
		return signal.Subs
	}
	return []*InterruptSignal{signal}
}
