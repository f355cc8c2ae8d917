package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

// agentState holds what a run of a chat model agent has to remember: the state of its ReAct graph. All of it is saved
// with an interrupted run.
type agentState[M MessageType] struct {
	// Messages is the history that the model sees.
	Messages []M
	// Extra has the run-local values.
	Extra map[string]any
	// ToolInfos and DeferredToolInfos are what the model is offered, once ToolsInitialised.
	ToolInfos         []*schema.ToolInfo
	DeferredToolInfos []*schema.ToolInfo
	ToolsInitialised  bool
	// HasReturnDirectly says that the result of the call whose label ReturnDirectlyToolCallID is ends the run. Its event is
	// held in ReturnDirectlyEvent until the other calls are done. Then only its action is kept.
	HasReturnDirectly        bool
	ReturnDirectlyToolCallID string
	ReturnDirectlyEvent      *TypedAgentEvent[M]
	ReturnDirectlyAction     *AgentAction
	// ToolGenActions are actions for tool events to come, by the label of the call, or by the tool's name without one.
	ToolGenActions map[string]*AgentAction
	AgentName      string
	// RemainingIterations counts down the turns of the model.
	RemainingIterations int
	// RetryAttempt is which retry of the current turn runs.
	RetryAttempt int
	// CallSeed is the seed of the idempotency keys of the run's tool calls.
	CallSeed [2]uint64
	// ToolMsgIDs has the message IDs of tool events whose results are not in Messages yet, by tool name and label of the
	// call, in a state that is saved or has been. In a run they are in sent.
	ToolMsgIDs map[string]map[string]string
	// ResumeAt says what was done already where the run stopped.
	ResumeAt resumePoint

	// sent are the tool events whose results are not in Messages yet. sentRoom is room for the only one of most turns.
	sent     []sentEvent
	sentRoom [1]sentEvent
}

// sentEvent is the event of a tool result: for which call it is, and what ID its message has.
type sentEvent struct {
	tool, label, id string
	// extra is the Extra of the message, if it does not change any more: the message in the history may have it, too.
	extra map[string]any
}

// resumePoint says what a run had done when it stopped between two nodes of its graph, so that a resumed one does not do
// it again. It is saved with the run; [agentRun] sets it when it stops, and clears it when it continues.
type resumePoint int

const (
	// resumeAtNode: the node where it stopped begins again.
	resumeAtNode resumePoint = iota
	// resumeAfterHooks: the answer of the model is in the history, and the hooks after it have run.
	resumeAfterHooks
	// resumeAfterTools: the results of the tools are in the history, and all that comes then has been done.
	resumeAfterTools
	// resumeAfterResults: the results are in the history; the one that ends the run is to be emitted, and the hooks are to
	// run.
	resumeAfterResults
	// resumeAfterAnswer: the answer of the model is in the history; the hooks after it are to run.
	resumeAfterAnswer
)

// State is the state of a run on ordinary messages: its history (Messages), the tools that the model is offered
// (ToolInfos, DeferredToolInfos), the run-local values (Extra) and what the run still has to do. Tools and hooks reach it
// with compose.ProcessState. Prefer the states that hooks are given, and run-local values ([SetRunLocalValue]): its
// fields that are not named here may change.
type State = agentState[*schema.Message]

// TypedState is [State] for any kind of message.
type TypedState[M MessageType] = agentState[M]

func init() {
	schema.RegisterName[*State]("_eino_adk_react_state")
	schema.RegisterName[resumePoint]("_weft_adk_resume_point")
	schema.RegisterName[*agentState[*schema.AgenticMessage]]("_eino_adk_agentic_state")
	schema.RegisterName[*TypedAgentEvent[*schema.AgenticMessage]]("_eino_adk_agentic_event")
}

// view returns the state as hooks see it. Appending to its slices does not write into the state's. The lists of tools are
// copies: the lists of the state may be the agent's, which all runs share.
func (s *agentState[M]) view() *TypedChatModelAgentState[M] {
	return &TypedChatModelAgentState[M]{
		Messages:          slices.Clip(s.Messages),
		ToolInfos:         slices.Clone(s.ToolInfos),
		DeferredToolInfos: slices.Clone(s.DeferredToolInfos),
	}
}

// adopt takes over what hooks made of a view. The history will grow, but not into what the hooks may keep behind it: one
// that is the state's own still has the state's room to grow, another has none.
func (s *agentState[M]) adopt(v *TypedChatModelAgentState[M]) {
	if len(v.Messages) == 0 || len(v.Messages) != len(s.Messages) || &v.Messages[0] != &s.Messages[0] {
		s.Messages = slices.Clip(v.Messages)
	}
	s.ToolInfos, s.DeferredToolInfos = v.ToolInfos, v.DeferredToolInfos
}

// noteSent remembers the event of a tool result.
func (s *agentState[M]) noteSent(e sentEvent) {
	if i := s.sentAt(e.tool, e.label); i >= 0 {
		s.sent[i] = e
		return
	}
	if s.sent == nil {
		if s.sent = s.sentRoom[:0]; s.callsInProgress() > len(s.sentRoom) {
			s.sent = make([]sentEvent, 0, s.callsInProgress())
		}
	}
	s.sent = append(s.sent, e)
}

// sentAt is the place where the event of a tool result is in sent, -1 if it is not there.
func (s *agentState[M]) sentAt(toolName, label string) int {
	return slices.IndexFunc(s.sent, func(e sentEvent) bool { return e.label == label && e.tool == toolName })
}

// moveSent readies the state for being saved: what is in sent moves to ToolMsgIDs.
func (s *agentState[M]) moveSent() {
	for _, e := range s.sent {
		if s.ToolMsgIDs == nil {
			s.ToolMsgIDs = map[string]map[string]string{}
		}
		if s.ToolMsgIDs[e.tool] == nil {
			s.ToolMsgIDs[e.tool] = map[string]string{}
		}
		s.ToolMsgIDs[e.tool][e.label] = e.id
	}
	clear(s.sent)
	s.sent = s.sent[:0]
}

// callsInProgress is the number of calls that the last message makes.
func (s *agentState[M]) callsInProgress() int {
	ops := opsOf[M]()
	if n := len(s.Messages); n > 0 && !ops.isNil(s.Messages[n-1]) {
		return len(ops.toolCalls(s.Messages[n-1]))
	}
	return 0
}

// forgetToolEvents drops what is left of calls that have no result in the history.
func (s *agentState[M]) forgetToolEvents() {
	for _, byCall := range s.ToolMsgIDs {
		clear(byCall)
	}
	clear(s.ToolGenActions)
	clear(s.sent)
	s.sent = s.sent[:0]
}

// takeSent returns what is known of the event of a tool result, of which there may have been none.
func (s *agentState[M]) takeSent(toolName, label string) (e sentEvent) {
	if i := s.sentAt(toolName, label); i >= 0 {
		e = s.sent[i]
		last := len(s.sent) - 1
		s.sent[i], s.sent[last] = s.sent[last], sentEvent{}
		s.sent = s.sent[:last]
		return e
	}
	byCall := s.ToolMsgIDs[toolName]
	e.id = byCall[label]
	delete(byCall, label)
	return e
}

// identifyResult gives the message of the result of a call, whose label is given, the ID that its event had, or a new one.
// They share the Extra where they can.
func (s *agentState[M]) identifyResult(m M, label string) {
	ops := opsOf[M]()
	name, callID := ops.toolCallOf(m)
	e := s.takeSent(name, label)
	if e.id == "" {
		e.id = newMessageID()
	}
	if e.extra == nil || len(ops.extra(m)) > 0 {
		e.extra = markOf(e.id)
		callorder.Mark(e.extra, label, callID)
	}
	ops.replaceExtra(m, ops.markedExtra(m, e.extra))
}

// setAction remembers the action for the event of a tool result. It must not be out yet.
func (s *agentState[M]) setAction(key string, action *AgentAction) error {
	if s.isSent(key) {
		return fmt.Errorf("the event of tool call %s is out already: a tool that streams must give it an action before it returns its stream", key)
	}
	if s.ToolGenActions == nil {
		s.ToolGenActions = map[string]*AgentAction{}
	}
	s.ToolGenActions[key] = action
	return nil
}

// isSent reports whether the event of the result of a call is out.
func (s *agentState[M]) isSent(label string) bool {
	for _, byCall := range s.ToolMsgIDs {
		if _, out := byCall[label]; out {
			return true
		}
	}
	return slices.ContainsFunc(s.sent, func(e sentEvent) bool { return e.label == label })
}

// takeAction returns the action for the event of a tool result, nil if there is none.
func (s *agentState[M]) takeAction(toolName, label string) *AgentAction {
	if len(s.ToolGenActions) == 0 {
		return nil
	}
	key := label
	action, ok := s.ToolGenActions[key]
	if !ok {
		key = toolName
		action = s.ToolGenActions[key]
	}
	delete(s.ToolGenActions, key)
	return action
}

// anyRun is a run on messages of either kind.
type anyRun interface {
	// runLocal, setRunLocal and deleteRunLocal are for the run-local values.
	runLocal(ctx context.Context, key string) (value any, ok bool, err error)
	setRunLocal(ctx context.Context, key string, value any) error
	deleteRunLocal(ctx context.Context, key string) error
	// setAction remembers the action for the event of a tool result.
	setAction(ctx context.Context, key string, action *AgentAction) error
	// toolInfo is the description of the tool that the run calls by a name, nil if there is none.
	toolInfo(name string) *schema.ToolInfo
	// reportArguments answers a call whose arguments do not fit.
	reportArguments(ctx context.Context, call *ToolContext, wrong *tool.ArgumentsError) (string, error)
	// noteAction has the action of a call recorded with its result.
	noteAction(label string, action *AgentAction)
	// agentToolOptions returns the options of an agent that runs as a tool, streaming whether it is to stream.
	agentToolOptions(name string) []AgentRunOption
	streaming() bool
	// cancelView is which cancel the run has to obey.
	cancelView() *cancelscope.View
	// scopeOf is the place where an agent is recorded that runs in ctx as a tool, nil if the steps of the run are not saved.
	scopeOf(ctx context.Context) *journal.Scope
	// outside is the context that the run was started with.
	outside() context.Context
	// idempotencyKey returns the key of a tool call of the run.
	idempotencyKey(ctx context.Context, call schema.ToolCall) string
}

type agentRunKey struct{}

// innermostRun returns the innermost run of a chat model agent, nil outside one. Code of users may bring a nil ctx.
func innermostRun(ctx context.Context) anyRun {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(agentRunKey{}).(anyRun)
	return r
}

// agentRunFrom returns the innermost run if it is one on M, else nil.
func agentRunFrom[M MessageType](ctx context.Context) *agentRun[M] {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(agentRunKey{}).(*agentRun[M])
	return r
}

// ModelAttempt returns which call of a model for one answer a context belongs to: 1 for the first one, 2 for the first
// retry. Outside of agents it is 0. It is for callback handlers, which are given the context of the call.
func ModelAttempt(ctx context.Context) int {
	if n := modelAttemptOf[*schema.Message](ctx); n > 0 {
		return n
	}
	return modelAttemptOf[*schema.AgenticMessage](ctx)
}

func modelAttemptOf[M MessageType](ctx context.Context) (n int) {
	if agentRunFrom[M](ctx) == nil {
		return 0
	}
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		n = s.RetryAttempt + 1
		return nil
	})
	return n
}

// IsEagerCall reports whether a context belongs to a call of a tool that was begun before the message that asks for it
// was there as a whole (see ToolsConfig.EagerExecution). It is for callback handlers.
func IsEagerCall(ctx context.Context) bool {
	if r := agentRunFrom[*schema.Message](ctx); r != nil {
		return r.earlyCall(ctx) != nil
	}
	r := agentRunFrom[*schema.AgenticMessage](ctx)
	return r != nil && r.earlyCall(ctx) != nil
}

// runOf is agentRunFrom for code that users may call outside a run.
func runOf[M MessageType](ctx context.Context, doing string) (*agentRun[M], error) {
	if r := agentRunFrom[M](ctx); r != nil {
		return r, nil
	}
	var none M
	return nil, fmt.Errorf("%s: there is no run of a chat model agent on %T around", doing, none)
}

var errOutsideRun = errors.New("must be called within a ChatModelAgent Run() or Resume() execution context")

func (r *agentRun[M]) runLocal(ctx context.Context, key string) (value any, ok bool, err error) {
	err = r.withState(ctx, func(s *agentState[M]) error {
		value, ok = s.Extra[key]
		return nil
	})
	return value, ok, err
}

func (r *agentRun[M]) setRunLocal(ctx context.Context, key string, value any) error {
	return r.withState(ctx, func(s *agentState[M]) error {
		if s.Extra == nil {
			s.Extra = map[string]any{}
		}
		s.Extra[key] = value
		return nil
	})
}

func (r *agentRun[M]) deleteRunLocal(ctx context.Context, key string) error {
	return r.withState(ctx, func(s *agentState[M]) error {
		delete(s.Extra, key)
		return nil
	})
}

func (r *agentRun[M]) setAction(ctx context.Context, key string, action *AgentAction) error {
	return r.withState(ctx, func(s *agentState[M]) error { return s.setAction(key, action) })
}

var errNoState = errors.New("the run has no state yet: it gets one after BeforeAgent")

// hasState reports whether the state that ctx leads to belongs to the run, and not to a run around it.
func (r *agentRun[M]) hasState(ctx context.Context) bool {
	if innermostRun(r.Context) == nil {
		return true
	}
	return !compose.InternalSameState[*agentState[M]](ctx, r.Context)
}

// withState calls do with the state of the run, which is locked meanwhile.
func (r *agentRun[M]) withState(ctx context.Context, do func(*agentState[M]) error) error {
	if !r.hasState(ctx) {
		return errNoState
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error { return do(s) })
}

// runForValues is the innermost run, whose state has what code of either kind of message may set.
func runForValues(ctx context.Context) (anyRun, error) {
	r := innermostRun(ctx)
	if r == nil {
		return nil, errOutsideRun
	}
	return r, nil
}

func (r *agentRun[M]) agentToolOptions(name string) []AgentRunOption {
	return r.options.agentTools[name]
}

func (r *agentRun[M]) streaming() bool { return r.input.EnableStreaming }

// history returns what the model has seen and said up to now.
func (r *agentRun[M]) history(ctx context.Context) (messages []M, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		messages = slices.Clip(s.Messages)
		return nil
	})
	return messages, err
}

func (r *agentRun[M]) cancelView() *cancelscope.View { return r.view }

func (r *agentRun[M]) scopeOf(ctx context.Context) *journal.Scope {
	if r.durable == nil {
		return nil
	}
	if call := r.callRecorded(ctx); call != nil {
		return call.Scope()
	}
	return r.durable.visit.Scope()
}

func (r *agentRun[M]) outside() context.Context { return r.Context }
