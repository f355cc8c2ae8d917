package adk

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// ChatModelAgentInterruptInfo is the Data of the interrupt of a chat model agent.
type ChatModelAgentInterruptInfo struct {
	// Info tells where in the agent's graph the run stopped.
	Info *compose.InterruptInfo
	// Data is the saved run.
	Data []byte
}

// ChatModelAgentResumeData is what a chat model agent can be given when it is resumed.
type ChatModelAgentResumeData struct {
	// HistoryModifier rewrites the history before the run goes on. Ordinary messages only.
	HistoryModifier func(ctx context.Context, history []Message) []Message
}

func init() {
	schema.RegisterName[*ChatModelAgentInterruptInfo]("_eino_adk_chat_model_agent_interrupt_info")
	schema.RegisterName[*notBegun[*schema.Message]]("_weft_adk_not_begun")
	schema.RegisterName[*notBegun[*schema.AgenticMessage]]("_weft_adk_agentic_not_begun")
}

// runStore keeps the checkpoint of a graph in the run that it belongs to.
type runStore[M MessageType] struct{}

func (runStore[M]) Get(ctx context.Context, _ string) ([]byte, bool, error) {
	r := agentRunFrom[M](ctx)
	if r == nil || r.resume == nil {
		return nil, false, nil
	}
	return r.resume.saved, true, nil
}

func (runStore[M]) Set(ctx context.Context, _ string, checkPoint []byte) error {
	r, err := runOf[M](ctx, "saving a run")
	if err == nil {
		r.checkpoint = checkPoint
	}
	return err
}

// interruptEvent is the last event of a run that was interrupted.
func (r *agentRun[M]) interruptEvent(info *compose.InterruptInfo, cause error) *TypedAgentEvent[M] {
	name := r.agent.conf.Name
	if r.checkpoint == nil {
		return &TypedAgentEvent[M]{Err: fmt.Errorf("agent '%s': interrupt occurred but checkpoint data is missing: %w", name, cause)}
	}
	inner, _ := core.SignalFrom(cause, func() core.Address { return core.GetCurrentAddress(r) })
	var subs []*InterruptSignal
	switch {
	case inner == nil:
	case inner.ID == "":
		subs = inner.Subs
	default:
		subs = []*InterruptSignal{inner}
	}
	r.recordStop(true)
	e := TypedCompositeInterrupt[M](r.Context, info, r.checkpoint, subs...)
	e.AgentName = name
	if e.Action != nil && e.Action.Interrupted != nil {
		e.Action.Interrupted.Data = &ChatModelAgentInterruptInfo{Info: info, Data: r.checkpoint}
	}
	return e
}

// notBegun is the state of a run that was stopped before its graph had one. It is begun anew.
type notBegun[M MessageType] struct{ Messages []M }

// stoppedEvent is the last event of a run that was stopped outside its graph. It can be begun again, or go on from what
// it was resumed with.
func (r *agentRun[M]) stoppedEvent() *TypedAgentEvent[M] {
	var state any
	var inside []*InterruptSignal
	switch {
	case r.resume != nil:
		state, inside = r.resume.info.InterruptState, core.InterruptedBelow(r.Context, infoStopped)
	case r.input != nil:
		state = &notBegun[M]{Messages: r.input.Messages}
	}
	r.recordStop(false)
	e := TypedCompositeInterrupt[M](r.Context, infoStopped, state, inside...)
	e.AgentName = r.agent.conf.Name
	return e
}

// resumeFrom has the run go on from what an interrupted one has left.
func (r *agentRun[M]) resumeFrom(info *ResumeInfo) {
	r.input = &TypedAgentInput[M]{EnableStreaming: info.EnableStreaming}
	if s, ok := info.InterruptState.(*notBegun[M]); ok {
		r.input.Messages = s.Messages
		return
	}
	r.resume = &resumption[M]{info: info}
}

// resumption is what an interrupted run goes on from.
type resumption[M MessageType] struct {
	info  *ResumeInfo
	saved []byte
	data  *ChatModelAgentResumeData
}

// resume is [TypedChatModelAgent.Resume].
func (a *chatModelAgent[M]) resume(ctx context.Context, info *ResumeInfo, opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
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

// historyModifier is that of the resume data, or else of the options.
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
