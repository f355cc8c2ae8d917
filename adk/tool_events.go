package adk

import (
	"context"
	"fmt"
	"io"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// toolEventSender is the outermost middleware of every tool: it sends the result as an event. The result in the
// history gets the same ID.
func toolEventSender[M MessageType]() compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil {
					return out, err
				}
				if !agentRunFrom[M](ctx).ownCall(ctx).Commit() {
					return nil, errStopped
				}
				return out, sendToolText[M](ctx, in.Name, in.CallID, out.Result)
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil || out.Result == nil {
					return out, err
				}
				out.Result, err = sendToolTextStream[M](ctx, in.Name, in.CallID, out.Result)
				return out, err
			}
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil {
					return out, err
				}
				if !agentRunFrom[M](ctx).ownCall(ctx).Commit() {
					return nil, errStopped
				}
				return out, sendToolResult[M](ctx, in.Name, in.CallID, out.Result)
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil || out == nil || out.Result == nil {
					return out, err
				}
				out.Result, err = sendToolResultStream[M](ctx, in.Name, in.CallID, out.Result)
				return out, err
			}
		},
	}
}

// unknownHandler answers calls of tools that do not exist.
type unknownHandler = func(ctx context.Context, name, input string) (string, error)

// unknownToolEventSender does for these answers what the middlewares of the agent's own do for results, because no
// middleware sees them: their events are sent, and an immediate cancel does not wait for them.
func unknownToolEventSender[M MessageType](handle unknownHandler) unknownHandler {
	if handle == nil {
		return nil
	}
	call := watchedTool[M](func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		answer, err := handle(ctx, in.Name, in.Arguments)
		if err != nil {
			return nil, err
		}
		if !agentRunFrom[M](ctx).ownCall(ctx).Commit() {
			return nil, errStopped
		}
		return &compose.ToolOutput{Result: answer}, sendToolText[M](ctx, in.Name, in.CallID, answer)
	}, func(context.Context, *compose.ToolOutput) error { return nil })
	return func(ctx context.Context, name, input string) (string, error) {
		out, err := call(ctx, &compose.ToolInput{Name: name, Arguments: input, CallID: compose.GetToolCallID(ctx)})
		if err != nil {
			return "", err
		}
		return out.Result, nil
	}
}

// eventSenderToolWrapper is the sender of tool events at a place of the user's choice.
type eventSenderToolWrapper[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
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
	return &eventSenderToolWrapper[M]{}
}

func (*eventSenderToolWrapper[M]) WrapInvokableToolCall(_ context.Context, endpoint InvokableToolCallEndpoint, tc *ToolContext) (InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		result, err := endpoint(ctx, arguments, opts...)
		if err != nil {
			return result, err
		}
		return result, sendToolText[M](ctx, tc.Name, tc.CallID, result)
	}, nil
}

func (*eventSenderToolWrapper[M]) WrapStreamableToolCall(_ context.Context, endpoint StreamableToolCallEndpoint, tc *ToolContext) (StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		s, err := endpoint(ctx, arguments, opts...)
		if err != nil || s == nil {
			return s, err
		}
		return sendToolTextStream[M](ctx, tc.Name, tc.CallID, s)
	}, nil
}

func (*eventSenderToolWrapper[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint EnhancedInvokableToolCallEndpoint, tc *ToolContext) (EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		result, err := endpoint(ctx, argument, opts...)
		if err != nil {
			return result, err
		}
		return result, sendToolResult[M](ctx, tc.Name, tc.CallID, result)
	}, nil
}

func (*eventSenderToolWrapper[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint EnhancedStreamableToolCallEndpoint, tc *ToolContext) (EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		s, err := endpoint(ctx, argument, opts...)
		if err != nil || s == nil {
			return s, err
		}
		return sendToolResultStream[M](ctx, tc.Name, tc.CallID, s)
	}, nil
}

func sendToolText[M MessageType](ctx context.Context, name, callID, text string) error {
	id := newMessageID()
	return publishToolEvent(ctx, name, callID, id, opsOf[M]().toolEvent(callID, name, text, markOf(id)))
}

func sendToolResult[M MessageType](ctx context.Context, name, callID string, result *schema.ToolResult) error {
	m, err := opsOf[M]().toolResult(callID, name, result)
	if err != nil {
		return err
	}
	id := newMessageID()
	opsOf[M]().replaceExtra(m, markOf(id))
	return publishToolEvent(ctx, name, callID, id, newMessageEvent(m, nil))
}

func sendToolTextStream[M MessageType](ctx context.Context, name, callID string, s *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
	return sendToolStream(ctx, name, callID, notEmpty(s, ""), func(chunk string) (M, error) {
		return opsOf[M]().toolMessage(callID, name, chunk), nil
	})
}

func sendToolResultStream[M MessageType](ctx context.Context, name, callID string, s *schema.StreamReader[*schema.ToolResult]) (*schema.StreamReader[*schema.ToolResult], error) {
	return sendToolStream(ctx, name, callID, notEmpty(s, &schema.ToolResult{}), func(chunk *schema.ToolResult) (M, error) {
		return opsOf[M]().toolResult(callID, name, chunk)
	})
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

// sendToolStream sends the result of a call while it comes, and returns the stream to go on with.
func sendToolStream[M MessageType, R any](ctx context.Context, name, callID string, s *schema.StreamReader[R], toMessage func(R) (M, error)) (*schema.StreamReader[R], error) {
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
			ops.replaceExtra(m, markOf(id))
		}
		return m, nil
	}))
	e.variant.MessageStream.SetAutomaticClose()
	if err := publishToolEvent(ctx, name, callID, id, e); err != nil {
		return nil, err
	}
	return copies[1], nil
}

// publishToolEvent completes the event of a result and sends it. Held back are the events of a call that was started
// early, until its message stands, and the one whose result ends the run, until the other calls are done.
func publishToolEvent[M MessageType](ctx context.Context, name, callID, id string, e *messageEvent[M]) error {
	r, err := runOf[M](ctx, "sending the event of a tool result")
	if err != nil {
		return err
	}
	opsOf[M]().toolVariant(&e.variant, name)
	if r.durable != nil && ctx.Value(replayedCallKey{}) != nil {
		e.event.origin = originReplayedSteps
	}
	if call := r.earlyCall(ctx); call != nil {
		return call.hold(heldEvent{
			publish: func() error { return r.publishToolEvent(ctx, name, callID, id, e) },
			drop:    e.event.closeStreams,
		})
	}
	return r.publishToolEvent(ctx, name, callID, id, e)
}

func (r *agentRun[M]) publishToolEvent(ctx context.Context, name, callID, id string, e *messageEvent[M]) error {
	send, replayed := true, e.event.origin.isReplayed()
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.setToolMessageID(name, callID, id)
		if m := e.variant.Message; !r.agent.handlers.present && !opsOf[M]().isNil(m) {
			s.sent = append(s.sent, sentExtra{id, opsOf[M]().extra(m)})
		}
		e.event.Action = s.takeAction(name, callID)
		if !replayed && r.earlyCall(ctx) == nil { // of an early call the result is recorded already
			r.noteAction(callID, e.event.Action)
		}
		if s.HasReturnDirectly && s.ReturnDirectlyToolCallID == callID && r.returnsDirectly(name) && s.ReturnDirectlyEvent == nil {
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
		run.noteAction(compose.GetToolCallID(ctx), action)
	}
	return sendToolGenAction(ctx, toolName, action)
}

// sendToolGenAction is SendToolGenAction for a call whose action is recorded already.
func sendToolGenAction(ctx context.Context, toolName string, action *AgentAction) error {
	key := compose.GetToolCallID(ctx)
	if key == "" {
		key = toolName
	}
	run, err := runForValues(ctx)
	if err == nil {
		set := func() error { return run.setAction(ctx, key, action) }
		if call := earlyCallIn(ctx, run); call != nil {
			err = call.holdAction(set)
		} else {
			err = set()
		}
	}
	if err != nil {
		return fmt.Errorf("SendToolGenAction failed: %w", err)
	}
	return nil
}

// handlerToolMiddlewares are the Wrap…ToolCall hooks of the middlewares as middlewares of the tools node, the first
// one outermost. The hooks are asked for every call.
func handlerToolMiddlewares[M MessageType](s *handlerSet[M]) []compose.ToolMiddleware {
	var all []compose.ToolMiddleware
	for _, h := range s.wrapInvokable {
		wrap := wrapEndpoint(textArgument, func(v string) *compose.ToolOutput { return &compose.ToolOutput{Result: v} },
			func(out *compose.ToolOutput) string { return out.Result },
			func(ctx context.Context, e endpoint[string, string], tc *ToolContext) (_ endpoint[string, string], err error) {
				defer h.blame("WrapInvokableToolCall", &err)
				w, err := h.WrapInvokableToolCall(ctx, InvokableToolCallEndpoint(e), tc)
				return endpoint[string, string](w), err
			})
		all = append(all, compose.ToolMiddleware{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint { return wrap(next) }})
	}
	for _, h := range s.wrapStreamable {
		type result = *schema.StreamReader[string]
		wrap := wrapEndpoint(textArgument, func(v result) *compose.StreamToolOutput { return &compose.StreamToolOutput{Result: v} },
			func(out *compose.StreamToolOutput) result { return out.Result },
			func(ctx context.Context, e endpoint[string, result], tc *ToolContext) (_ endpoint[string, result], err error) {
				defer h.blame("WrapStreamableToolCall", &err)
				w, err := h.WrapStreamableToolCall(ctx, StreamableToolCallEndpoint(e), tc)
				return endpoint[string, result](w), err
			})
		all = append(all, compose.ToolMiddleware{Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint { return wrap(next) }})
	}
	for _, h := range s.wrapEnhancedInvokable {
		type result = *schema.ToolResult
		wrap := wrapEndpoint(partsArgument, func(v result) *compose.EnhancedInvokableToolOutput {
			return &compose.EnhancedInvokableToolOutput{Result: v}
		},
			func(out *compose.EnhancedInvokableToolOutput) result { return out.Result },
			func(ctx context.Context, e endpoint[*schema.ToolArgument, result], tc *ToolContext) (_ endpoint[*schema.ToolArgument, result], err error) {
				defer h.blame("WrapEnhancedInvokableToolCall", &err)
				w, err := h.WrapEnhancedInvokableToolCall(ctx, EnhancedInvokableToolCallEndpoint(e), tc)
				return endpoint[*schema.ToolArgument, result](w), err
			})
		all = append(all, compose.ToolMiddleware{EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return wrap(next)
		}})
	}
	for _, h := range s.wrapEnhancedStreamable {
		type result = *schema.StreamReader[*schema.ToolResult]
		wrap := wrapEndpoint(partsArgument, func(v result) *compose.EnhancedStreamableToolOutput {
			return &compose.EnhancedStreamableToolOutput{Result: v}
		},
			func(out *compose.EnhancedStreamableToolOutput) result { return out.Result },
			func(ctx context.Context, e endpoint[*schema.ToolArgument, result], tc *ToolContext) (_ endpoint[*schema.ToolArgument, result], err error) {
				defer h.blame("WrapEnhancedStreamableToolCall", &err)
				w, err := h.WrapEnhancedStreamableToolCall(ctx, EnhancedStreamableToolCallEndpoint(e), tc)
				return endpoint[*schema.ToolArgument, result](w), err
			})
		all = append(all, compose.ToolMiddleware{EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return wrap(next)
		}})
	}
	return all
}

// endpoint is what the four forms of tool calls have in common: arguments A make a result R.
type endpoint[A, R any] func(ctx context.Context, arguments A, opts ...tool.Option) (R, error)

// argumentForm is how the arguments of a call are given to a tool.
type argumentForm[A any] struct {
	of   func(text string) A
	text func(A) string
}

var textArgument = argumentForm[string]{
	of:   func(text string) string { return text },
	text: func(a string) string { return a },
}

var partsArgument = argumentForm[*schema.ToolArgument]{
	of: func(text string) *schema.ToolArgument { return &schema.ToolArgument{Text: text} },
	text: func(a *schema.ToolArgument) string {
		if a == nil {
			return ""
		}
		return a.Text
	},
}

// wrapEndpoint makes a middleware of the tools node out of a hook. The middleware's endpoints take the whole input
// and return an output struct O around R.
func wrapEndpoint[A, R, O any](form argumentForm[A], pack func(R) *O, unpack func(*O) R,
	hook func(context.Context, endpoint[A, R], *ToolContext) (endpoint[A, R], error),
) func(next toolCall[O]) toolCall[O] {
	return func(next toolCall[O]) toolCall[O] {
		return func(ctx context.Context, in *compose.ToolInput) (*O, error) {
			inner := func(ctx context.Context, arguments A, opts ...tool.Option) (result R, err error) {
				out, err := next(ctx, withArguments(in, form.text(arguments), opts))
				if err != nil || out == nil {
					return result, err
				}
				return unpack(out), nil
			}
			wrapped, err := hook(ctx, inner, &ToolContext{Name: in.Name, CallID: in.CallID})
			if err != nil {
				return nil, err
			}
			if wrapped == nil {
				wrapped = inner
			}
			result, err := wrapped(ctx, form.of(in.Arguments), in.CallOptions...)
			if err != nil {
				return nil, err
			}
			return pack(result), nil
		}
	}
}

// withArguments is a call with the arguments and options that a wrapper passes on: itself, if they are its own.
func withArguments(in *compose.ToolInput, arguments string, opts []tool.Option) *compose.ToolInput {
	if arguments == in.Arguments && len(opts) == len(in.CallOptions) && (len(opts) == 0 || &opts[0] == &in.CallOptions[0]) {
		return in
	}
	changed := *in
	changed.Arguments, changed.CallOptions = arguments, opts
	return &changed
}
