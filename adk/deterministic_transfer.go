package adk

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// DeterministicTransferConfig configures [AgentWithDeterministicTransferTo].
type DeterministicTransferConfig struct {
	Agent Agent
	// ToAgentNames are the agents that take over when Agent has ended.
	ToAgentNames []string
}

// AgentWithDeterministicTransferTo returns an agent that hands the run over when the given one has ended, whatever that
// said, unless it exits, fails or is interrupted. It is resumable if the given one is.
func AgentWithDeterministicTransferTo(_ context.Context, config *DeterministicTransferConfig) Agent {
	a := &deterministicAgent{}
	if config != nil && config.Agent != nil {
		a.Agent, a.targets = config.Agent, slices.Clone(config.ToAgentNames)
	} else {
		a.Agent = missingAgent{}
	}
	if _, ok := a.Agent.(ResumableAgent); ok {
		return &resumableDeterministicAgent{a}
	}
	return a
}

// missingAgent stands for one that was left out of a configuration.
type missingAgent struct{}

func (missingAgent) Name(context.Context) string        { return "" }
func (missingAgent) Description(context.Context) string { return "" }
func (missingAgent) Run(context.Context, *AgentInput, ...AgentRunOption) *AsyncIterator[*AgentEvent] {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	gen.Send(&AgentEvent{Err: errors.New("DeterministicTransferConfig.Agent is required")})
	gen.Close()
	return it
}

type deterministicAgent struct {
	Agent
	targets []string
}

// resumableDeterministicAgent is one around a resumable agent.
type resumableDeterministicAgent struct{ *deterministicAgent }

// GetType returns the type of the agent.
func (a *deterministicAgent) GetType() string {
	if typ, ok := components.GetType(a.Agent); ok {
		return typ
	}
	return "DeterministicTransfer"
}

// Run runs the agent by itself.
func (a *deterministicAgent) Run(
	ctx context.Context, input *AgentInput, opts ...AgentRunOption,
) *AsyncIterator[*AgentEvent] {
	return launch(ctx, a, assignment[Message]{input: input, opts: opts})
}

// Resume continues an interrupted run of the agent.
func (a *resumableDeterministicAgent) Resume(
	ctx context.Context, info *ResumeInfo, opts ...AgentRunOption,
) *AsyncIterator[*AgentEvent] {
	return launch(ctx, a, assignment[Message]{resume: info, opts: opts})
}

func (a *deterministicAgent) begin(ctx context.Context, do assignment[Message]) task {
	r := &deterministicRun{agent: a, ctx: ctx, out: do.out}
	do.out = r
	switch inner := a.Agent.(type) {
	case *flowAgent:
		r.inner = r.isolated(inner, do)
	case starter[Message]:
		r.inner = inner.begin(ctx, do)
	default:
		r.inner = beginCustom(ctx, a.Agent, do)
	}
	return r
}

// deterministicRun is one run of the agent, with the transfers behind it.
type deterministicRun struct {
	agent *deterministicAgent
	ctx   context.Context
	out   sink[Message]
	inner task
	// last is the action of the last event. failed: there was an error, of any of the agents inside.
	last   *AgentAction
	failed bool
	// own is the lane of an agent with sub-agents and the agents after it, caller the lane around.
	own, caller *lane[Message]
}

// deterministicState holds what the agents inside have said to each other.
type deterministicState struct{ EventList []savedItem }

func init() {
	schema.RegisterName[*deterministicState]("_eino_adk_deterministic_transfer_state")
}

// isolated runs an agent that has others around it: they do not see what was said outside.
func (r *deterministicRun) isolated(inner *flowAgent, do assignment[Message]) task {
	outer := executionFrom[Message](r.ctx)
	if outer == nil {
		return inner.begin(r.ctx, do)
	}
	x := outer.child(r.ctx, inner, r, do.opts)
	x.inherits = true
	x.run = &rootRun[Message]{session: outer.run.session, input: outer.run.input, options: outer.run.options, journal: outer.run.journal, diagnostics: outer.run.diagnostics}
	x.run.recording.Store(true)
	x.lane = newLane[Message]()
	r.own, r.caller = x.lane, outer.lane
	if do.resume == nil {
		return x.begin(do.input, nil)
	}
	state, ok := do.resume.InterruptState.(*deterministicState)
	if !ok {
		return failing[Message]{r.out, errors.New("invalid interrupt state for flowAgent resume in deterministic transfer")}
	}
	items, err := restoreItems[Message](state.EventList)
	if err != nil {
		return failing[Message]{r.out, err}
	}
	x.lane.restore(items)
	return x.beginResume(do.resume.EnableStreaming)
}

func (r *deterministicRun) execute() {
	r.inner.execute()
	if r.failed || r.last != nil && (r.last.Interrupted != nil || r.last.Exit) {
		return
	}
	for _, name := range r.agent.targets {
		call, result := GenTransferMessages(r.ctx, name)
		r.out.send(EventFromMessage(call, nil, schema.Assistant, ""))
		transfer := EventFromMessage(result, nil, schema.Tool, TransferToAgentToolName)
		transfer.Action = NewTransferToAgentAction(name)
		r.out.send(transfer)
	}
}

// send passes the events of the agent on.
func (r *deterministicRun) send(e *AgentEvent) {
	if e.origin == originInner {
		r.out.send(e)
		return
	}
	r.last, r.failed = e.Action, r.failed || e.Err != nil
	if r.own == nil {
		r.out.send(e)
		return
	}
	if e.Action == nil || e.Action.Interrupted == nil {
		if r.caller != nil && e.origin != originReplayedHistory {
			r.caller.add(e.AgentName, e)
		}
		r.out.send(e)
		return
	}
	said, err := saveItems(r.ctx, r.own.own())
	if err != nil {
		r.out.send(&AgentEvent{Err: err})
		return
	}
	composite := CompositeInterrupt(r.ctx, "deterministic transfer wrapper interrupted", &deterministicState{EventList: said}, signalsOf(e)...)
	composite.AgentName, composite.RunPath = e.AgentName, e.RunPath
	composite.Action.Interrupted.Data = e.Action.Interrupted.Data
	r.out.send(composite)
}
