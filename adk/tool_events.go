package adk

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/weftgo/weft/adk/internal/eager"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/schema"
)

// unknownHandler answers calls of tools that do not exist.
type unknownHandler = func(ctx context.Context, name, input string) (string, error)

// sendsItsEvent does for answers instead of a tool what the middlewares of the agent's own do for results, because no
// middleware sees them: their events are sent, and an immediate cancel does not wait for them.
func sendsItsEvent[M MessageType](handle unknownHandler) unknownHandler {
	if handle == nil {
		return nil
	}
	call := func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		answer, err := handle(ctx, in.Name, in.Arguments)
		if err != nil {
			return nil, err
		}
		if !agentRunFrom[M](ctx).ownCall(ctx).Commit() {
			return nil, errStopped
		}
		return &compose.ToolCallOutput{Text: answer}, sendToolText[M](ctx, in.Name, in.CallID, answer)
	}
	return func(ctx context.Context, name, input string) (string, error) {
		out, err := callCancellable(ctx, agentRunFrom[M](ctx), &compose.ToolInput{Name: name, Arguments: input, CallID: compose.GetToolCallID(ctx)}, call)
		if err != nil {
			return "", err
		}
		return out.Text, nil
	}
}

// eventSenderToolWrapper is the sender of tool events at a place of the user's choice.
type eventSenderToolWrapper[M MessageType] struct {
	TypedToolCallHooks[M]
}

// NewEventSenderToolWrapper returns a middleware that sends the events of tool results from its place among the
// middlewares, with the result as it is there. An agent with one has no other sender. As the last middleware it sends
// what the tool itself gave.
func NewEventSenderToolWrapper() ChatModelAgentMiddleware {
	return NewTypedEventSenderToolWrapper[*schema.Message]()
}

// NewTypedEventSenderToolWrapper is [NewEventSenderToolWrapper] for any kind of message.
func NewTypedEventSenderToolWrapper[M MessageType]() TypedChatModelAgentMiddleware[M] {
	return runtimeOf[M]().newToolEventSender()
}

func (compiled[M]) newToolEventSender() TypedChatModelAgentMiddleware[M] {
	return &eventSenderToolWrapper[M]{TypedToolCallHooks[M]{Wrap: sendsToolEvent[M]}}
}

func (*eventSenderToolWrapper[M]) sendsEvents() (models, tools bool) { return false, true }

func sendsToolEvent[M MessageType](
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	name, callID := call.Name, call.CallID
	out, err := next(ctx, call)
	if err != nil {
		return nil, err
	}
	return out, sendToolOutput[M](ctx, name, callID, out)
}

// sendToolOutput sends the event of a result. A stream is split: one half stays in the output.
func sendToolOutput[M MessageType](ctx context.Context, name, callID string, out *compose.ToolCallOutput) (err error) {
	switch {
	case out.ResultStream != nil:
		out.ResultStream, err = sendToolResultStream[M](ctx, name, callID, out.ResultStream)
	case out.Result != nil:
		err = sendToolResult[M](ctx, name, callID, out.Result)
	case out.TextStream != nil:
		out.TextStream, err = sendToolTextStream[M](ctx, name, callID, out.TextStream)
	default:
		err = sendToolText[M](ctx, name, callID, out.Text)
	}
	return err
}

func sendToolText[M MessageType](ctx context.Context, name, callID, text string) error {
	id := newMessageID()
	return publishToolEvent(ctx, name, id, opsOf[M]().toolEvent(callID, name, text, resultMark(ctx, callID, id)))
}

func sendToolResult[M MessageType](ctx context.Context, name, callID string, result *schema.ToolResult) error {
	m, err := opsOf[M]().toolResult(callID, name, result)
	if err != nil {
		return err
	}
	id := newMessageID()
	opsOf[M]().replaceExtra(m, resultMark(ctx, callID, id))
	return publishToolEvent(ctx, name, id, newMessageEvent(m, nil))
}

func sendToolTextStream[M MessageType](
	ctx context.Context, name, callID string, s *schema.StreamReader[string],
) (*schema.StreamReader[string], error) {
	return sendToolStream(ctx, name, callID, notEmpty(s, ""), func(chunk string) (M, error) {
		return opsOf[M]().toolMessage(callID, name, chunk), nil
	})
}

func sendToolResultStream[M MessageType](
	ctx context.Context, name, callID string, s *schema.StreamReader[*schema.ToolResult],
) (*schema.StreamReader[*schema.ToolResult], error) {
	return sendToolStream(ctx, name, callID, notEmpty(s, &schema.ToolResult{}), func(chunk *schema.ToolResult) (M, error) {
		return opsOf[M]().toolResult(callID, name, chunk)
	})
}

// resultMark is the Extra of the result of a call: the ID of the message, and which of several calls of one ID it was.
func resultMark(ctx context.Context, callID, id string) mark {
	m := markOf(id)
	callorder.Mark(m, compose.InternalToolCallLabel(ctx), callID)
	return m
}

// notEmpty puts a chunk that says nothing into a stream without chunks: a tool may have nothing to say.
func notEmpty[T any](s *schema.StreamReader[T], nothing T) *schema.StreamReader[T] {
	empty := true
	return schema.StreamReaderWithConvert(s, func(chunk T) (T, error) {
		empty = false
		return chunk, nil
	}, schema.WithOnEOF(func() (any, error) {
		if empty {
			return nothing, nil
		}
		return nil, io.EOF
	}))
}

// sendToolStream sends the result of a call while it comes, and returns the stream to continue with.
func sendToolStream[M MessageType, R any](
	ctx context.Context, name, callID string, s *schema.StreamReader[R], toMessage func(R) (M, error),
) (*schema.StreamReader[R], error) {
	if !agentRunFrom[M](ctx).ownCall(ctx).Emit() {
		s.Close()
		return nil, errStopped
	}
	ops := opsOf[M]()
	id := newMessageID()
	copies := s.Copy(2)
	first := true
	var none M
	e := newMessageEvent(none, schema.StreamReaderWithConvert(copies[0], func(chunk R) (M, error) {
		m, err := toMessage(chunk)
		if err != nil {
			return m, err
		}
		ops.markChunk(m)
		if first {
			first = false
			ops.replaceExtra(m, resultMark(ctx, callID, id))
		}
		return m, nil
	}))
	e.variant.MessageStream.SetAutomaticClose()
	if err := publishToolEvent(ctx, name, id, e); err != nil {
		return nil, err
	}
	return copies[1], nil
}

// publishToolEvent completes the event of a result and sends it. Held back are the events of a call that was started
// early, until its message stands, and the one whose result ends the run, until the other calls are done.
func publishToolEvent[M MessageType](ctx context.Context, name, id string, e *messageEvent[M]) error {
	r, err := runOf[M](ctx, "sending the event of a tool result")
	if err != nil {
		return err
	}
	opsOf[M]().toolVariant(&e.variant, name)
	e.event.place = placeIn(ctx)
	if r.durable != nil && ctx.Value(replayedCallKey{}) != nil {
		e.event.origin = originReplayedSteps
	}
	if call := r.earlyCall(ctx); call != nil {
		return call.Hold(eager.Event{
			Publish: func() error { return r.publishToolEvent(ctx, name, id, e) },
			Drop:    e.event.closeStreams,
		})
	}
	return r.publishToolEvent(ctx, name, id, e)
}

// placeIn is the place of the tool call that ctx belongs to in its answer, for events.
func placeIn(ctx context.Context) uint16 {
	return uint16(min(compose.InternalToolCallPlace(ctx), math.MaxUint16))
}

func (r *agentRun[M]) publishToolEvent(ctx context.Context, name, id string, e *messageEvent[M]) error {
	send, replayed := true, e.event.origin.isReplayed()
	label := compose.InternalToolCallLabel(ctx)
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		sent := sentEvent{tool: name, label: label, id: id}
		if m := e.variant.Message; !r.agent.handlers.seesMessages && !opsOf[M]().isNil(m) {
			sent.extra = opsOf[M]().extra(m)
		}
		s.noteSent(sent)
		e.event.Action = s.takeAction(name, label)
		if !replayed && r.earlyCall(ctx) == nil { // of an early call the result is recorded already
			r.noteAction(label, e.event.Action)
		}
		if s.HasReturnDirectly && s.ReturnDirectlyToolCallID == label && r.returnsDirectly(name) && s.ReturnDirectlyEvent == nil {
			s.ReturnDirectlyEvent, send = &e.event, false
		}
		return nil
	})
	switch {
	case err != nil || !send:
	case r.ownCall(ctx).Committed():
		r.sendCommitted(&e.event)
	default:
		r.sendMessage(&e.event)
	}
	return err
}

// SendToolGenAction has the event of the current tool call carry an action. toolName is for callers outside a tool
// call. A tool that streams must call it before it returns its stream: once the event is out it is an error.
func SendToolGenAction(ctx context.Context, toolName string, action *AgentAction) error {
	if run := innermostRun(ctx); run != nil {
		run.noteAction(compose.InternalToolCallLabel(ctx), action)
	}
	return sendToolGenAction(ctx, toolName, action)
}

// sendToolGenAction is SendToolGenAction for a call whose action is recorded already.
func sendToolGenAction(ctx context.Context, toolName string, action *AgentAction) error {
	key := compose.InternalToolCallLabel(ctx)
	if key == "" {
		key = toolName
	}
	run, err := runForValues(ctx)
	if err == nil {
		set := func() error { return run.setAction(ctx, key, action) }
		if call := eager.CallIn(ctx, run); call != nil {
			err = call.HoldAction(set)
		} else {
			err = set()
		}
	}
	if err != nil {
		return fmt.Errorf("SendToolGenAction failed: %w", err)
	}
	return nil
}
