package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/adk/internal/runwatch"
)

// send passes an event of the agent on.
func (x *execution[M]) send(e *TypedAgentEvent[M]) {
	if e == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	own := len(e.RunPath) == 0
	if own {
		e.AgentName, e.RunPath = x.name, append(e.RunPath, x.path...)
	} else {
		own = slices.Equal(e.RunPath, x.path)
	}
	if own {
		x.last = e.Action
		keepData(e.Action)
		if x.lane != nil && x.run.recording.Load() && e.origin != originReplayedHistory && (e.Action == nil || e.Action.Interrupted == nil) {
			x.lane.add(e.AgentName, e)
		}
	}
	if own && x.witness != nil && !e.origin.isReplayed() && e.origin != originPiece {
		x.witness.Event(e, int(e.place))
	}
	for _, w := range x.watchers {
		w.send(copyEvent(e))
	}
	x.out.send(e)
}

// keepData has the data of a custom agent's interrupt saved with its point, for its Resume. Agents of this package have
// it in their state.
func keepData(a *AgentAction) {
	if a == nil || a.Interrupted == nil || a.signal == nil {
		return
	}
	switch a.Interrupted.Data.(type) {
	case nil, *ChatModelAgentInterruptInfo, *WorkflowInterruptInfo:
	default:
		a.signal.LayerSpecificPayload = a.Interrupted.Data
	}
}

// outcome returns how the agent ended: the action of its last event, or of the last event of the agent that took over.
func (x *execution[M]) outcome() *AgentAction {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// copyEvent returns an event that another reader may have. Streams are split.
func copyEvent[M MessageType](e *TypedAgentEvent[M]) *TypedAgentEvent[M] {
	c := &struct { // one piece of memory
		event   TypedAgentEvent[M]
		output  TypedAgentOutput[M]
		variant TypedMessageVariant[M]
	}{event: *e}
	c.event.RunPath = slices.Clone(e.RunPath)
	if e.Output == nil {
		return &c.event
	}
	c.output, c.event.Output = *e.Output, &c.output
	if v := e.Output.MessageOutput; v != nil {
		c.variant, c.output.MessageOutput = *v, &c.variant
		c.variant.readByRun = nil
		if v.MessageStream != nil {
			c.variant.MessageStream = v.split()
		}
	}
	return &c.event
}

// named gives an event about x its name and path.
func (x *execution[M]) named(e *TypedAgentEvent[M]) *TypedAgentEvent[M] {
	e.AgentName, e.RunPath = x.name, slices.Clone(x.path)
	return e
}

// send emits an event. One that comes after the end of the run, from tools that outlive it, or when it is to stop at
// once, is dropped: the turn that it is of is taken again.
func (r *agentRun[M]) send(e *TypedAgentEvent[M]) {
	if !r.trySend(e) {
		r.phase.lose()
		e.closeStreams()
	}
}

// witness sees the agent of the run, nil for most.
func (r *agentRun[M]) witness() runwatch.Agent {
	if r == nil {
		return nil
	}
	return runwatch.In(r.Context)
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
	if r.over || r.isDropped(e) {
		return false
	}
	r.out.send(e)
	return true
}

// sendLast emits the event that says how a run ended that did not reach its final message. Nothing follows it: not even
// the result of a tool that just comes.
func (r *agentRun[M]) sendLast(e *TypedAgentEvent[M]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over && !r.isDropped(e) {
		r.over = true
		r.out.send(e)
	}
}

// isDropped reports whether a run that is to stop at once does not emit an event. What says how it stopped is emitted,
// and so is what only repeats an earlier process: the history that is saved must have it.
func (r *agentRun[M]) isDropped(e *TypedAgentEvent[M]) bool {
	if !r.view.Now() || e.Err != nil {
		return false
	}
	if r.view.IsAbortOnly() {
		return true
	}
	return !e.origin.isReplayed() && (e.Action == nil || e.Action.Interrupted == nil)
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
	if opsOf[M]().isNil(m) {
		return
	}
	e := eventAgain(m)
	e.origin, e.Action = from, action
	r.sendMessage(e)
}

// eventAgain makes the event of a message that an earlier process emitted.
func eventAgain[M MessageType](m M) *TypedAgentEvent[M] {
	ops, e := opsOf[M](), newMessageEvent(m, nil)
	if name, _ := ops.toolCallOf(m); name != "" {
		ops.toolVariant(&e.variant, name)
	} else {
		ops.modelVariant(&e.variant)
	}
	return &e.event
}

// hidePartial hides what broke off from other agents: the resumed run says it again.
func (r *agentRun[M]) hidePartial() {
	if l := r.lane(); l != nil {
		l.discard(r.agent.conf.Name, 0, entryCountsIfWhole)
	}
}

// lane returns the lane on which other agents see what the run says, nil if no agents see it.
func (r *agentRun[M]) lane() *lane[M] {
	if x := executionFrom[M](r.Context); x != nil && x.run.recording.Load() {
		return x.lane
	}
	return nil
}

// SendEvent adds an event of the caller's own to the events of the run: from a hook, a wrapper or a tool. It is sent as
// it is, and dropped when the run has ended.
func SendEvent(ctx context.Context, event *AgentEvent) error { return TypedSendEvent(ctx, event) }

// TypedSendEvent is [SendEvent] for any kind of message. The run must be one on that kind.
func TypedSendEvent[M MessageType](ctx context.Context, event *TypedAgentEvent[M]) error {
	return runtimeOf[M]().sendEvent(ctx, event)
}

func (compiled[M]) sendEvent(ctx context.Context, event *TypedAgentEvent[M]) error {
	r := agentRunFrom[M](ctx)
	if r == nil {
		return fmt.Errorf("TypedSendEvent failed: %w", errOutsideRun)
	}
	if event == nil {
		return errors.New("TypedSendEvent failed: the event is nil")
	}
	if place := placeIn(ctx); place > 1 { // of an event without a place the first call with its ID is meant
		placed := *event
		placed.place = place
		event = &placed
	}
	if call := r.earlyCall(ctx); call != nil {
		return call.Hold(eager.Event{Publish: func() error { r.send(event); return nil }, Drop: event.closeStreams})
	}
	r.send(event)
	return nil
}
