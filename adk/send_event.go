package adk

import (
	"context"
	"errors"
	"fmt"
)

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
