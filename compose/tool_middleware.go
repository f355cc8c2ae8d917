package compose

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// ToolInput is one call of a tool on its way through the middlewares, which may change it.
type ToolInput struct {
	// Name is the tool as the model called it: an alias stays an alias.
	Name string
	// Arguments are what the tool gets: after argument aliases and the arguments handler.
	Arguments string
	// CallID is the model's ID of the call; not every model gives one.
	CallID      string
	CallOptions []tool.Option
}

// ToolOutput is the result of an invokable tool.
type ToolOutput struct{ Result string }

// StreamToolOutput is the result of a streamable tool.
type StreamToolOutput struct {
	Result *schema.StreamReader[string]
}

// EnhancedInvokableToolOutput is the result of an enhanced invokable tool.
type EnhancedInvokableToolOutput struct{ Result *schema.ToolResult }

// EnhancedStreamableToolOutput is the result of an enhanced streamable tool.
type EnhancedStreamableToolOutput struct {
	Result *schema.StreamReader[*schema.ToolResult]
}

// InvokableToolEndpoint runs one call of an invokable tool.
type InvokableToolEndpoint func(ctx context.Context, input *ToolInput) (*ToolOutput, error)

// StreamableToolEndpoint runs one call of a streamable tool.
type StreamableToolEndpoint func(ctx context.Context, input *ToolInput) (*StreamToolOutput, error)

// EnhancedInvokableToolEndpoint runs one call of an enhanced invokable tool.
type EnhancedInvokableToolEndpoint func(ctx context.Context, input *ToolInput) (*EnhancedInvokableToolOutput, error)

// EnhancedStreamableToolEndpoint runs one call of an enhanced streamable tool.
type EnhancedStreamableToolEndpoint func(ctx context.Context, input *ToolInput) (*EnhancedStreamableToolOutput, error)

// InvokableToolMiddleware wraps the calls of invokable tools.
type InvokableToolMiddleware func(InvokableToolEndpoint) InvokableToolEndpoint

// StreamableToolMiddleware wraps the calls of streamable tools.
type StreamableToolMiddleware func(StreamableToolEndpoint) StreamableToolEndpoint

// EnhancedInvokableToolMiddleware wraps the calls of enhanced invokable tools.
type EnhancedInvokableToolMiddleware func(EnhancedInvokableToolEndpoint) EnhancedInvokableToolEndpoint

// EnhancedStreamableToolMiddleware wraps the calls of enhanced streamable tools.
type EnhancedStreamableToolMiddleware func(EnhancedStreamableToolEndpoint) EnhancedStreamableToolEndpoint

// ToolMiddleware wraps the calls of a tools node's tools, each kind of tool with its own function; nil leaves that
// kind alone. Only the kinds that a tool implements itself count: a tool that can only be invoked goes through
// Invokable even where its result is streamed.
type ToolMiddleware struct {
	// Name gives the middleware an address segment of its own below that of the call, see [AddressSegmentMiddleware]: it
	// can ask for an interrupt, and find its state and its answer, without getting into the way of the other middlewares
	// and the tool, which keep their addresses. [GetResumeContext] tells it of a resume that is meant for any of them. The
	// error of a panic has the name. Without one the middleware is at the address of the call.
	Name               string
	Invokable          InvokableToolMiddleware
	Streamable         StreamableToolMiddleware
	EnhancedInvokable  EnhancedInvokableToolMiddleware
	EnhancedStreamable EnhancedStreamableToolMiddleware
}

// middlewareContext is the context of a middleware with a name, below the call, or that of what it wraps, at the call.
type middlewareContext struct {
	context.Context
	frame core.Frame
	// call is the frame of the call in the context of the middleware, nil in that of what it wraps.
	call *core.Frame
}

type middlewareKey struct{}

func (c *middlewareContext) Value(key any) any {
	switch key.(type) {
	case core.FrameKey:
		return &c.frame
	case middlewareKey:
		return c
	}
	return c.Context.Value(key)
}

// addressedWrap puts a middleware with a name around an endpoint.
func addressedWrap[O any, E ~func(context.Context, *ToolInput) (*O, error), W ~func(E) E](name string, wrap W, next E) E {
	segment := core.AddressSegment{Type: AddressSegmentMiddleware, ID: name}
	wrapped := wrap(func(ctx context.Context, in *ToolInput) (_ *O, err error) {
		defer safe.Recover(&err) // it is not this middleware that panics
		return next(outsideMiddleware(ctx), in)
	})
	return func(ctx context.Context, in *ToolInput) (_ *O, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("tool middleware '%s': %w", name, safe.NewPanicError(v, debug.Stack()))
			}
		}()
		call := core.FrameFrom(ctx)
		return wrapped(&middlewareContext{Context: ctx, frame: call.EnterAround(ctx, &segment), call: call}, in)
	}
}

// outsideMiddleware returns what a middleware calls next with: its own context, with what it put there, at the address
// of the call. If the middleware has entered an address itself, that stays.
func outsideMiddleware(ctx context.Context) context.Context {
	inside, _ := ctx.Value(middlewareKey{}).(*middlewareContext)
	if inside == nil || inside.call == nil || core.FrameFrom(ctx) != &inside.frame {
		return ctx
	}
	return &middlewareContext{Context: ctx, frame: *inside.call}
}
