package adk

import (
	"context"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// toolEventSender is the outermost middleware of every tool: it sends the result as an event. The result in the
// history gets the same ID.
func toolEventSender[M MessageType]() compose.ToolMiddleware {
	ops := opsOf[M]()
	textOf := func(in *compose.ToolInput) func(string) (M, error) {
		return func(result string) (M, error) { return ops.toolMessage(in.CallID, in.Name, result), nil }
	}
	partsOf := func(in *compose.ToolInput) func(*schema.ToolResult) (M, error) {
		return func(result *schema.ToolResult) (M, error) { return ops.toolResult(in.CallID, in.Name, result) }
	}
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil {
					return out, err
				}
				return out, sendToolEvent(ctx, in, ops.toolMessage(in.CallID, in.Name, out.Result))
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil || out.Result == nil {
					return out, err
				}
				out.Result, err = sendToolStream(ctx, in, out.Result, textOf(in))
				return out, err
			}
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil {
					return out, err
				}
				m, err := ops.toolResult(in.CallID, in.Name, out.Result)
				if err != nil {
					return nil, err
				}
				return out, sendToolEvent(ctx, in, m)
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil || out.Result == nil {
					return out, err
				}
				out.Result, err = sendToolStream(ctx, in, out.Result, partsOf(in))
				return out, err
			}
		},
	}
}

// unknownHandler answers calls of tools that do not exist.
type unknownHandler = func(ctx context.Context, name, input string) (string, error)

// unknownToolEventSender does for these answers what the middleware does for results: no middleware sees them.
func unknownToolEventSender[M MessageType](handle unknownHandler) unknownHandler {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, name, input string) (string, error) {
		answer, err := handle(ctx, name, input)
		if err != nil {
			return answer, err
		}
		in := &compose.ToolInput{Name: name, Arguments: input, CallID: compose.GetToolCallID(ctx)}
		return answer, sendToolEvent(ctx, in, opsOf[M]().toolMessage(in.CallID, name, answer))
	}
}

// sendToolEvent sends the result of a call.
func sendToolEvent[M MessageType](ctx context.Context, in *compose.ToolInput, m M) error {
	r := agentRunFrom[M](ctx)
	ops := opsOf[M]()
	id := newMessageID()
	ops.replaceExtra(m, map[string]any{messageIDKey: id})
	e := newMessageEvent(m, nil)
	ops.toolVariant(&e.variant, in.Name)
	if err := rememberToolMessageID[M](ctx, in, id); err != nil {
		return err
	}
	r.sendMessage(e)
	return nil
}

// sendToolStream sends the result of a call while it comes, and returns the stream to go on with.
func sendToolStream[M MessageType, R any](ctx context.Context, in *compose.ToolInput, s *schema.StreamReader[R], toMessage func(R) (M, error)) (*schema.StreamReader[R], error) {
	r := agentRunFrom[M](ctx)
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
			ops.replaceExtra(m, map[string]any{messageIDKey: id})
		}
		return m, nil
	}))
	ops.toolVariant(&e.variant, in.Name)
	e.variant.MessageStream.SetAutomaticClose()
	if err := rememberToolMessageID[M](ctx, in, id); err != nil {
		return nil, err
	}
	r.sendMessage(e)
	return copies[1], nil
}

func rememberToolMessageID[M MessageType](ctx context.Context, in *compose.ToolInput, id string) error {
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.ToolMsgIDs = append(s.ToolMsgIDs, toolMessageID{ToolName: in.Name, CallID: in.CallID, MessageID: id})
		return nil
	})
}
