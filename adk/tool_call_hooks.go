package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// ToolCallWrapper runs one call of a tool of any kind, usually by calling next, before and after which it may do what it
// likes: change the call, the result or the error, call next not at all or twice. call may be changed; its Name is what
// the model wrote, and its Arguments are in JSON. It is called by several calls at once.
type ToolCallWrapper func(ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint) (*compose.ToolCallOutput, error)

// TypedToolCallHooks is a middleware that wraps the calls of every kind of tool with one function: the four hooks for
// tool calls are made of it. It is one by itself ([WrapEveryToolCall] makes one), and may be embedded in a middleware
// that has other hooks, by value and instead of [TypedBaseChatModelAgentMiddleware].
type TypedToolCallHooks[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
	// Wrap is called for each tool call. nil leaves them alone.
	Wrap ToolCallWrapper
}

// ToolCallHooks are the hooks for agents on ordinary messages.
//
// Its fields and methods, which are documented at [TypedToolCallHooks]:
//
//   - Wrap: the function, called for each tool call; see [ToolCallWrapper]
//   - WrapInvokableToolCall, WrapStreamableToolCall: the hooks that call it for tools of text
//   - WrapEnhancedInvokableToolCall, WrapEnhancedStreamableToolCall: the hooks that call it for tools of parts
//   - TypedBaseChatModelAgentMiddleware: all other hooks, which do nothing
type ToolCallHooks = TypedToolCallHooks[*schema.Message]

// WrapEveryToolCall returns a middleware that wraps the calls of every kind of tool with one function.
func WrapEveryToolCall(wrap ToolCallWrapper) ChatModelAgentMiddleware {
	return &ToolCallHooks{Wrap: wrap}
}

// everyToolCall returns the function, for the runtime, which then does without the four hooks.
func (h *TypedToolCallHooks[M]) everyToolCall() ToolCallWrapper {
	if h == nil {
		return nil
	}
	return h.Wrap
}

// WrapInvokableToolCall implements [TypedChatModelAgentMiddleware].
func (h *TypedToolCallHooks[M]) WrapInvokableToolCall(
	_ context.Context, endpoint InvokableToolCallEndpoint, tCtx *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return wrapOne(h.everyToolCall(), textCalls, endpoint, tCtx), nil
}

// WrapStreamableToolCall implements [TypedChatModelAgentMiddleware].
func (h *TypedToolCallHooks[M]) WrapStreamableToolCall(
	_ context.Context, endpoint StreamableToolCallEndpoint, tCtx *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return wrapOne(h.everyToolCall(), textStreamCalls, endpoint, tCtx), nil
}

// WrapEnhancedInvokableToolCall implements [TypedChatModelAgentMiddleware].
func (h *TypedToolCallHooks[M]) WrapEnhancedInvokableToolCall(
	_ context.Context, endpoint EnhancedInvokableToolCallEndpoint, tCtx *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return wrapOne(h.everyToolCall(), resultCalls, endpoint, tCtx), nil
}

// WrapEnhancedStreamableToolCall implements [TypedChatModelAgentMiddleware].
func (h *TypedToolCallHooks[M]) WrapEnhancedStreamableToolCall(
	_ context.Context, endpoint EnhancedStreamableToolCallEndpoint, tCtx *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return wrapOne(h.everyToolCall(), resultStreamCalls, endpoint, tCtx), nil
}

// wrapOne puts a wrapper around the endpoint of one kind of tool.
func wrapOne[A, R any, E ~func(context.Context, A, ...tool.Option) (R, error)](
	wrap ToolCallWrapper, form callForm[A, R], endpoint E, tc *ToolContext,
) E {
	if wrap == nil {
		return endpoint
	}
	return func(ctx context.Context, arguments A, opts ...tool.Option) (R, error) {
		given := form.text(arguments)
		call := &compose.ToolInput{Name: tc.Name, CallID: tc.CallID, Arguments: given, CallOptions: opts}
		return form.unwrapped(wrap(ctx, call, func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
			passed := arguments // as they are, if no hook has changed them
			if in.Arguments != given {
				passed = form.argument(in.Arguments)
			}
			return form.wrapped(endpoint(ctx, passed, in.CallOptions...))
		}))
	}
}
