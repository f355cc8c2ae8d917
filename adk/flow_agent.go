package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/safe"
)

// OnSubAgents is an optional interface of agents that need to know the agents around them. Its methods are called when
// those are set.
type OnSubAgents interface {
	OnSetSubAgents(ctx context.Context, subAgents []Agent) error
	OnSetAsSubAgent(ctx context.Context, parent Agent) error
	OnDisallowTransferToParent(ctx context.Context) error
}

// flowAgent is an agent with the agents around it: those that it can hand a run over to.
type flowAgent struct {
	agent     Agent
	subAgents []*flowAgent
	rewriter  HistoryRewriter
	// sealed: the agent must not hand the run back to its parent.
	sealed bool
	// warned: agents that share a name were logged.
	warned atomic.Bool

	mu     sync.Mutex // guards parent
	parent *flowAgent
}

// AgentOption changes how an agent takes part in a run with others, see [AgentWithOptions].
type AgentOption func(options *flowAgent)

// WithDisallowTransferToParent forbids an agent to hand a run back to the agent that it is a sub-agent of.
func WithDisallowTransferToParent() AgentOption {
	return func(f *flowAgent) { f.sealed = true }
}

// WithHistoryRewriter replaces how the input of an agent is made when a run reaches it from other agents. The default
// keeps the messages of the user and of the agent itself, and turns the messages of other agents into user messages.
func WithHistoryRewriter(h HistoryRewriter) AgentOption {
	return func(f *flowAgent) { f.rewriter = h }
}

// AgentWithOptions returns the agent with options. The agent itself is not changed.
func AgentWithOptions(ctx context.Context, agent Agent, opts ...AgentOption) Agent {
	return toFlow(ctx, agent, opts...)
}

// toFlow wraps an agent; one that is wrapped already is copied.
func toFlow(_ context.Context, agent Agent, opts ...AgentOption) *flowAgent {
	f := &flowAgent{agent: agent}
	if wrapped, ok := agent.(*flowAgent); ok {
		f.agent, f.subAgents, f.rewriter, f.sealed = wrapped.agent, slices.Clone(wrapped.subAgents), wrapped.rewriter, wrapped.sealed
		f.parent = wrapped.parentAgent()
	}
	for _, opt := range opts {
		if opt != nil {
			opt(f)
		}
	}
	return f
}

// SetSubAgents returns the agent with sub-agents, to which it can hand a run over. An agent that implements
// [OnSubAgents], as a [ChatModelAgent] does, is notified, and so are the sub-agents. They can be set once.
func SetSubAgents(ctx context.Context, agent Agent, subAgents []Agent) (_ ResumableAgent, err error) {
	defer safe.Recover(&err)
	if agent == nil {
		return nil, errors.New("SetSubAgents: the agent is nil")
	}
	f := toFlow(ctx, agent)
	if len(f.subAgents) > 0 {
		return nil, errors.New("agent's sub-agents has already been set")
	}
	if on, ok := f.agent.(OnSubAgents); ok {
		if err := on.OnSetSubAgents(ctx, subAgents); err != nil {
			return nil, err
		}
	}
	for i, sub := range subAgents {
		if sub == nil {
			return nil, fmt.Errorf("SetSubAgents: the sub-agent at index %d is nil", i)
		}
		child := toFlow(ctx, sub)
		if err := child.adoptedBy(ctx, f); err != nil {
			return nil, err
		}
		f.subAgents = append(f.subAgents, child)
	}
	f.noteFlow()
	return f, nil
}

// noteFlow has the agent know that it is one of several, which it must run among.
func (f *flowAgent) noteFlow() {
	if a, ok := f.agent.(*ChatModelAgent); ok {
		a.made().joinFlow()
	}
}

// runsInFlow reports whether the agent at work in ctx is one of several.
func runsInFlow[M MessageType](ctx context.Context, agent *chatModelAgent[M]) bool {
	r := agentRunFrom[M](ctx)
	if r == nil || r.agent != agent {
		return false
	}
	x := executionFrom[M](r.Context)
	if x == nil || x.flow == nil {
		return false
	}
	a, ok := any(x.flow.agent).(*TypedChatModelAgent[M])
	return ok && a.agent == chatAgent[M](agent)
}

// adoptedBy makes f a sub-agent of parent. A panic of the agent, which may be a nil pointer, becomes an error.
func (f *flowAgent) adoptedBy(ctx context.Context, parent *flowAgent) (err error) {
	defer safe.Recover(&err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parent != nil {
		return errors.New("agent has already been set as a sub-agent of another agent")
	}
	f.parent = parent
	on, ok := f.agent.(OnSubAgents)
	if !ok {
		return nil
	}
	if err := on.OnSetAsSubAgent(ctx, parent.agent); err != nil {
		return err
	}
	f.noteFlow()
	if f.sealed {
		return on.OnDisallowTransferToParent(ctx)
	}
	return nil
}

func (f *flowAgent) parentAgent() *flowAgent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parent
}

// Name returns the name of the agent.
func (f *flowAgent) Name(ctx context.Context) string { return f.agent.Name(ctx) }

// Description returns the description of the agent.
func (f *flowAgent) Description(ctx context.Context) string { return f.agent.Description(ctx) }

// GetType returns the type of the agent.
func (f *flowAgent) GetType() string {
	typ, _ := components.GetType(f.agent)
	return typ
}

// Run runs the agent and those that it hands the run over to.
func (f *flowAgent) Run(ctx context.Context, input *AgentInput, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	return launch(ctx, f, assignment[Message]{input: input, opts: opts})
}

// Resume continues an interrupted run.
func (f *flowAgent) Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	return launch(ctx, f, assignment[Message]{resume: info, opts: opts})
}

// begin starts the agent by itself: as the outermost one, or below the agent of ctx.
func (f *flowAgent) begin(ctx context.Context, do assignment[Message]) task {
	var x *execution[Message]
	own := cancelViewFrom(ctx)
	release := noRelease
	if own.IsAbortOnly() {
		ctx, release = detach(ctx)
	}
	if parent := executionFrom[Message](ctx); parent != nil {
		parent.run.recording.Store(true)
		x = parent.child(ctx, f, do.out, do.opts)
		x.inherits = true
		if parent.lane == nil {
			x.lane.seed(ctx)
		}
		if own != nil && own != parent.view { // it has an option of its own, or a hook or tool runs it
			x.view = own
		} else if _, ok := parent.agent.(container); ok {
			x.view = parent.view
		}
	} else {
		run := newRootRun(do.input, do.opts)
		run.recording.Store(true)
		x = &execution[Message]{Context: ctx, run: run, out: do.out, opts: do.opts, lane: newLane[Message](), view: own}
		x.setAgent(f)
		x.path = []RunStep{{agentName: x.name}}
	}
	var begun task
	if do.resume != nil {
		begun = x.beginResume(do.resume.EnableStreaming)
	} else {
		begun = x.begin(do.input, nil)
	}
	return releasing{begun, release}
}

// releasing is a task that frees a context when it is done.
type releasing struct {
	task
	release func()
}

func (t releasing) execute() {
	defer t.release()
	t.task.execute()
}

// A container is an agent that is nothing by itself: the agent in it obeys cancels in its place.
type container interface{ ObeyedInside() }

// activeAgent is the agent that a run begins with: the one of [WithActiveAgent], or root itself.
func activeAgent[M MessageType](ctx context.Context, root TypedAgent[M], name string) (TypedAgent[M], error) {
	if name == "" || root.Name(ctx) == name {
		return root, nil
	}
	if f, ok := any(root).(*flowAgent); ok {
		if found := f.below(ctx, name); found != nil {
			return any(found).(TypedAgent[M]), nil
		}
	}
	return nil, fmt.Errorf("runner: there is no agent '%s' below '%s': WithActiveAgent takes the name of an agent that the run can reach",
		name, root.Name(ctx))
}

// below finds a sub-agent by its name, nearer ones first.
func (f *flowAgent) below(ctx context.Context, name string) *flowAgent {
	for _, sub := range f.subAgents {
		if sub.Name(ctx) == name {
			return sub
		}
	}
	for _, sub := range f.subAgents {
		if found := sub.below(ctx, name); found != nil {
			return found
		}
	}
	return nil
}

// warnOfAgentNames reports agents around the agent that share a name, once for each agent.
func (x *execution[M]) warnOfAgentNames() {
	d, f := x.run.diagnostics, x.flow
	if d.to == nil || f == nil || f.warned.Swap(true) {
		return
	}
	_ = guardHook(func() error { // names are the users' code
		x.compareNames(d, f)
		return nil
	})
}

func (x *execution[M]) compareNames(d diagnostics, f *flowAgent) {
	around := slices.Clone(f.subAgents)
	if parent := f.parentAgent(); parent != nil && !f.sealed {
		around = append(around, parent)
	}
	first := map[string]*flowAgent{}
	for _, a := range around {
		name := a.Name(x)
		if other := first[name]; other != nil {
			d.warn(x, "two agents have the same name: a transfer goes to the first one", "agent", x.name, "name", name,
				"first", fmt.Sprintf("%T: %s", other.agent, other.Description(x)),
				"other", fmt.Sprintf("%T: %s", a.agent, a.Description(x)))
			continue
		}
		first[name] = a
	}
}
