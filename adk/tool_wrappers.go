package adk

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// hookedTool puts the hooks for tool calls around a call of a tool, the first one outermost. The hooks are asked for every
// call.
func hookedTool[M MessageType](
	s *handlerSet[M], form compose.InternalToolForm, next compose.ToolCallEndpoint,
) compose.ToolCallEndpoint {
	switch form {
	case compose.InternalInvokable:
		return insideHooks(next, s.wrapInvokable, textCalls, "WrapInvokableToolCall",
			func(h *handler[M], ctx context.Context, e endpoint[string, string], tc *ToolContext) (endpoint[string, string], error) {
				w, err := h.WrapInvokableToolCall(ctx, InvokableToolCallEndpoint(e), tc)
				return endpoint[string, string](w), err
			})
	case compose.InternalStreamable:
		type result = *schema.StreamReader[string]
		return insideHooks(next, s.wrapStreamable, textStreamCalls, "WrapStreamableToolCall",
			func(h *handler[M], ctx context.Context, e endpoint[string, result], tc *ToolContext) (endpoint[string, result], error) {
				w, err := h.WrapStreamableToolCall(ctx, StreamableToolCallEndpoint(e), tc)
				return endpoint[string, result](w), err
			})
	case compose.InternalEnhancedInvokable:
		type result = *schema.ToolResult
		return insideHooks(next, s.wrapEnhancedInvokable, resultCalls, "WrapEnhancedInvokableToolCall",
			func(h *handler[M], ctx context.Context, e endpoint[argument, result], tc *ToolContext) (endpoint[argument, result], error) {
				w, err := h.WrapEnhancedInvokableToolCall(ctx, EnhancedInvokableToolCallEndpoint(e), tc)
				return endpoint[argument, result](w), err
			})
	default:
		type result = *schema.StreamReader[*schema.ToolResult]
		return insideHooks(next, s.wrapEnhancedStreamable, resultStreamCalls, "WrapEnhancedStreamableToolCall",
			func(h *handler[M], ctx context.Context, e endpoint[argument, result], tc *ToolContext) (endpoint[argument, result], error) {
				w, err := h.WrapEnhancedStreamableToolCall(ctx, EnhancedStreamableToolCallEndpoint(e), tc)
				return endpoint[argument, result](w), err
			})
	}
}

// endpoint is the signature that the four forms of tool calls share: arguments A make a result R.
type endpoint[A, R any] func(ctx context.Context, arguments A, opts ...tool.Option) (R, error)

type argument = *schema.ToolArgument

// callForm is one form of tool calls: how it gets its arguments, and how its result is put into the one that all forms
// share and taken out of it. A nil output stands for a result that is missing.
type callForm[A, R any] struct {
	argument func(text string) A
	text     func(A) string
	output   func(R) *compose.ToolCallOutput
	result   func(*compose.ToolCallOutput) (R, error)
}

func sameText(text string) string { return text }

func argumentOf(text string) argument { return &schema.ToolArgument{Text: text} }

func textOfArgument(a argument) string {
	if a == nil {
		return ""
	}
	return a.Text
}

var textCalls = callForm[string, string]{sameText, sameText,
	func(text string) *compose.ToolCallOutput { return &compose.ToolCallOutput{Text: text} },
	(*compose.ToolCallOutput).AsText,
}

var textStreamCalls = callForm[string, *schema.StreamReader[string]]{sameText, sameText,
	func(s *schema.StreamReader[string]) *compose.ToolCallOutput {
		if s == nil {
			return nil
		}
		return &compose.ToolCallOutput{TextStream: s}
	},
	func(out *compose.ToolCallOutput) (*schema.StreamReader[string], error) {
		return out.AsTextStream(), nil
	},
}

var resultCalls = callForm[argument, *schema.ToolResult]{argumentOf, textOfArgument,
	func(r *schema.ToolResult) *compose.ToolCallOutput { return &compose.ToolCallOutput{Result: r} },
	(*compose.ToolCallOutput).AsResult,
}

var resultStreamCalls = callForm[argument, *schema.StreamReader[*schema.ToolResult]]{argumentOf, textOfArgument,
	func(s *schema.StreamReader[*schema.ToolResult]) *compose.ToolCallOutput {
		if s == nil {
			return nil
		}
		return &compose.ToolCallOutput{ResultStream: s}
	},
	func(out *compose.ToolCallOutput) (*schema.StreamReader[*schema.ToolResult], error) {
		return out.AsResultStream(), nil
	},
}

var errNoToolResult = errors.New("a wrapper of the tool call returned neither an output nor an error")

// wrapped turns the result of a call of the form into the result that all forms share.
func (f *callForm[A, R]) wrapped(result R, err error) (*compose.ToolCallOutput, error) {
	if err != nil {
		return nil, err
	}
	if out := f.output(result); out != nil {
		return out, nil
	}
	return nil, errNoToolResult
}

// unwrapped turns the result that all forms share into the result of the form.
func (f *callForm[A, R]) unwrapped(out *compose.ToolCallOutput, err error) (result R, _ error) {
	if err == nil && out == nil {
		err = errNoToolResult
	}
	if err != nil {
		return result, err
	}
	return f.result(out)
}

// insideHooks puts the hooks for one form of calls around next.
func insideHooks[M MessageType, A, R any](next compose.ToolCallEndpoint, handlers []handler[M], form callForm[A, R], name string,
	hook func(*handler[M], context.Context, endpoint[A, R], *ToolContext) (endpoint[A, R], error),
) compose.ToolCallEndpoint {
	for i := range slices.Backward(handlers) {
		h := &handlers[i]
		if h.everyToolCall != nil {
			next = wrappedByEvery(h.everyToolCall, next)
			continue
		}
		next = hookedCall(next, form, func(ctx context.Context, e endpoint[A, R], tc *ToolContext) (_ endpoint[A, R], err error) {
			defer h.blame(name, &err)
			return hook(h, ctx, e, tc)
		})
	}
	return next
}

// wrappedByEvery puts a middleware that has one function for all forms around next.
func wrappedByEvery(wrapper func() ToolCallWrapper, next compose.ToolCallEndpoint) compose.ToolCallEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		wrap := wrapper()
		if wrap == nil {
			return next(ctx, in)
		}
		out, err := wrap(ctx, in, next)
		if err == nil && out == nil {
			err = errNoToolResult
		}
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// hookedCall puts one hook for one form of calls around next.
func hookedCall[A, R any](next compose.ToolCallEndpoint, form callForm[A, R],
	hook func(context.Context, endpoint[A, R], *ToolContext) (endpoint[A, R], error),
) compose.ToolCallEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
		inner := func(ctx context.Context, arguments A, opts ...tool.Option) (R, error) {
			return form.unwrapped(next(ctx, withArguments(in, form.text(arguments), opts)))
		}
		outer, err := hook(ctx, inner, &ToolContext{Name: in.Name, CallID: in.CallID})
		if err != nil {
			return nil, err
		}
		if outer == nil {
			outer = inner
		}
		return form.wrapped(outer(ctx, form.argument(in.Arguments), in.CallOptions...))
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
