package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

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
