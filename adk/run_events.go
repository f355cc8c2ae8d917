package adk

import (
	"context"
	"errors"
	"fmt"
)

// send emits an event. One that comes after the end of the run, from tools that outlive it, or when it is to stop at
// once, is dropped: the turn that it is of is taken again.
func (r *agentRun[M]) send(e *TypedAgentEvent[M]) {
	if !r.trySend(e) {
		r.phase.lose()
		e.closeStreams()
	}
}

// sendMessage is send for an event of the run's own, with the message of a model or a tool.
func (r *agentRun[M]) sendMessage(e *TypedAgentEvent[M]) {
	r.answered.Store(true)
	r.send(e)
}

// trySend emits an event, unless the run is over or is to stop at once. What says how it stopped is emitted.
func (r *agentRun[M]) trySend(e *TypedAgentEvent[M]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.view.Now() && (r.view.IsAbortOnly() || e.Action == nil || e.Action.Interrupted == nil) && e.Err == nil {
		return false
	}
	r.out.send(e)
	return true
}

// sendCommitted emits the event of a tool call that counts although the run may have been stopped meanwhile.
func (r *agentRun[M]) sendCommitted(e *TypedAgentEvent[M]) {
	r.answered.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.view.IsAbortOnly() && r.view.Now() {
		e.closeStreams()
		return
	}
	r.out.send(e)
}

// replay sends the event of a message that an earlier process emitted, for other agents and to say how the agent ended.
func (r *agentRun[M]) replay(m M, action *AgentAction, from eventOrigin) {
	ops := opsOf[M]()
	if ops.isNil(m) {
		return
	}
	e := newMessageEvent(m, nil)
	if name, _ := ops.toolCallOf(m); name != "" {
		ops.toolVariant(&e.variant, name)
	} else {
		ops.modelVariant(&e.variant)
	}
	e.event.origin, e.event.Action = from, action
	r.sendMessage(&e.event)
}

// hidePartial hides what broke off from other agents: the resumed run says it again.
func (r *agentRun[M]) hidePartial() {
	if l := r.lane(); l != nil {
		l.discard(r.agent.conf.Name, 0, entryCountsIfWhole)
	}
}

// lane is where other agents see what the run says, nil if there are none that do.
func (r *agentRun[M]) lane() *lane[M] {
	if x := executionFrom[M](r.Context); x != nil && x.run.recording.Load() {
		return x.lane
	}
	return nil
}

// SendEvent sends an event of the caller's own among those of the run: from a hook, a wrapper or a tool. It is sent as
// it is, and dropped when the run has ended.
func SendEvent(ctx context.Context, event *AgentEvent) error { return TypedSendEvent(ctx, event) }

// TypedSendEvent is [SendEvent] for any kind of message. The run must be one on that kind.
func TypedSendEvent[M MessageType](ctx context.Context, event *TypedAgentEvent[M]) error {
	return engineOf[M]().sendEvent(ctx, event)
}

func (compiled[M]) sendEvent(ctx context.Context, event *TypedAgentEvent[M]) error {
	r := agentRunFrom[M](ctx)
	if r == nil {
		return fmt.Errorf("TypedSendEvent failed: %w", errOutsideRun)
	}
	if event == nil {
		return errors.New("TypedSendEvent failed: the event is nil")
	}
	if call := r.earlyCall(ctx); call != nil {
		return call.hold(heldEvent{publish: func() error { r.send(event); return nil }, drop: event.closeStreams})
	}
	r.send(event)
	return nil
}
