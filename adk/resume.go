package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// beginResume lets the agent of x, or the one below it that was interrupted, continue.
func (x *execution[M]) beginResume(streaming bool) (t task) {
	defer func() { // the agents around it are asked for their names
		if v := recover(); v != nil {
			t = x.failing(x.failed(safe.NewPanicError(v, debug.Stack())))
		}
	}()
	interrupted, state, target, data := x.frame.Resumption()
	info := &ResumeInfo{
		EnableStreaming: streaming,
		InterruptInfo:   &InterruptInfo{Data: state.LayerSpecificPayload},
		WasInterrupted:  interrupted,
		InterruptState:  state.State,
		IsResumeTarget:  target,
		ResumeData:      data,
		ImplicitResume:  !core.HasTargets(x.Context),
	}
	if interrupted {
		return x.begin(nil, info)
	}
	next, err := core.GetNextResumptionPoints(x)
	if err != nil { // it names a function that no caller knows
		return x.refuse(info, fmt.Errorf("agent '%s' cannot resume: its context does not come from a resumed run; "+
			"call Resume or ResumeWithParams of a Runner, and hand the context of Resume on to agents inside", x.name))
	}
	if x.flow != nil && (len(x.flow.subAgents) > 0 || x.flow.parentAgent() != nil) {
		if below := resumeBelow(any(x).(*execution[Message]), next, info); below != nil {
			return below
		}
		if _, alone := x.agent.(*TypedChatModelAgent[M]); alone {
			return x.refuse(info, errNoInterruptedChild)
		}
	}
	if _, ok := x.agent.(TypedResumableAgent[M]); ok {
		return x.begin(nil, info)
	}
	return x.refuse(info, fmt.Errorf("failed to resume agent: agent '%s' does not implement ResumableAgent interface, but an agent "+
		"inside it was interrupted: your custom agent wrapper must implement the ResumableAgent interface", x.name))
}

// refuse returns the task of an agent that cannot continue. Its callback handlers see the error.
func (x *execution[M]) refuse(info *ResumeInfo, why error) task {
	if err := guardHook(func() error { return x.fireStart(nil, info) }); err != nil {
		why = errors.Join(why, err)
	}
	x.task = x.failing(why)
	return x
}

// resumeBelow resumes the agent that x's agent had handed the run over to. It returns nil if there is none: then the
// interrupted agent is inside x's own.
func resumeBelow(x *execution[Message], next map[string]bool, info *ResumeInfo) task {
	var found *flowAgent
	candidates := x.flow.subAgents
	if parent := x.flow.parentAgent(); parent != nil {
		candidates = append(candidates[:len(candidates):len(candidates)], parent)
	}
	for _, a := range candidates {
		if !next[a.Name(x)] {
			continue
		}
		if found != nil {
			return x.refuse(info, errors.New("agent has multiple child agents leading to interruption, but concurrent transfer is not supported"))
		}
		found = a
	}
	if found == nil {
		return nil
	}
	return successor(x, found).beginResume(info.EnableStreaming)
}

var errNoInterruptedChild = errors.New("no child agents leading to interrupted agent were found")

func notResumable(name string) error {
	return fmt.Errorf("failed to resume agent: agent '%s' is an interrupt point but is not a ResumableAgent", name)
}

// wasInterrupted reports whether the agent, or one inside it, has to continue.
func (x *execution[M]) wasInterrupted() bool {
	interrupted, _, target, _ := x.frame.Resumption()
	return interrupted || target
}

// resumeFrom has the run continue from what an interrupted one has left.
func (r *agentRun[M]) resumeFrom(info *ResumeInfo) {
	r.input = &TypedAgentInput[M]{EnableStreaming: info.EnableStreaming}
	if s, ok := info.InterruptState.(*notBegun[M]); ok {
		r.input.Messages = s.Messages
		return
	}
	r.resume = &resumption[M]{info: info}
}

// resumption holds what an interrupted run continues from.
type resumption[M MessageType] struct {
	info  *ResumeInfo
	saved []byte
	data  *ChatModelAgentResumeData
}

// resume is [TypedChatModelAgent.Resume].
func (a *chatModelAgent[M]) resume(
	ctx context.Context, info *ResumeInfo, opts []AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	if info == nil {
		return new(hub[M]).refuse((&resumption[M]{}).refuse(a.conf.Name, "info is nil"))
	}
	return launch(ctx, a, assignment[M]{resume: info, opts: opts})
}

// refuse is the error of a run that cannot be resumed.
func (s *resumption[M]) refuse(agent, format string, args ...any) error {
	return fmt.Errorf("ChatModelAgent.Resume: agent '%s' was asked to resume but %s", agent, fmt.Sprintf(format, args...))
}

// check finds what the run left in the info.
func (s *resumption[M]) check(r *agentRun[M]) error {
	name := r.agent.conf.Name
	if s.info.InterruptState == nil {
		return s.refuse(name, "has no state")
	}
	var ok bool
	if s.saved, ok = s.info.InterruptState.([]byte); !ok {
		return s.refuse(name, "has invalid interrupt state type: %T", s.info.InterruptState)
	}
	if s.info.ResumeData != nil {
		if s.data, ok = s.info.ResumeData.(*ChatModelAgentResumeData); !ok {
			return s.refuse(name, "has invalid resume data type: %T", s.info.ResumeData)
		}
	}
	if modify := r.historyModifier(); modify != nil {
		if _, ordinary := any(r).(*agentRun[*schema.Message]); !ordinary {
			return errors.New("a history modifier works on ordinary messages only")
		}
	}
	return nil
}

// historyModifier returns the one of the resume data, or else of the options.
func (r *agentRun[M]) historyModifier() func(context.Context, []Message) []Message {
	if r.resume.data != nil && r.resume.data.HistoryModifier != nil {
		return r.resume.data.HistoryModifier
	}
	return r.options.historyModifier
}

// modifyHistory rewrites the saved history, if that is wanted.
func (r *agentRun[M]) modifyHistory(ctx context.Context, saved *State) {
	if modify := r.historyModifier(); modify != nil {
		defer blamePanic("HistoryModifier")
		saved.Messages = modify(ctx, saved.Messages)
	}
}

// options look at the saved history, and rewrite it.
func (s *resumption[M]) options() []compose.Option {
	return []compose.Option{compose.WithStateModifier(func(ctx context.Context, _ compose.NodePath, state any) error {
		r := agentRunFrom[M](ctx)
		if saved, ok := state.(*State); ok {
			r.modifyHistory(ctx, saved)
		}
		if saved, ok := state.(*agentState[M]); ok && r.durable != nil {
			r.durable.given = len(saved.Messages)
		}
		return nil
	})}
}
