package compose

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

var errNilToolOutput = errors.New("a tool middleware returned neither an output nor an error")

// outputForms says how the result R of one kind of tool is put into the outputs of middlewares and taken out of them:
// of those for the kind, O, and of those for every kind. What is not ok is no output.
type outputForms[R, O any] struct {
	pack   func(R) *O
	unpack func(*O) (_ R, ok bool)
	output func(R) *ToolCallOutput
	result func(*ToolCallOutput) (R, error)
}

var textOutputs = outputForms[string, ToolOutput]{
	pack:   func(v string) *ToolOutput { return &ToolOutput{Result: v} },
	unpack: func(o *ToolOutput) (string, bool) { return o.Result, true },
	output: func(v string) *ToolCallOutput { return &ToolCallOutput{Text: v} },
	result: (*ToolCallOutput).AsText,
}

var textStreamOutputs = outputForms[*schema.StreamReader[string], StreamToolOutput]{
	pack:   func(s *schema.StreamReader[string]) *StreamToolOutput { return &StreamToolOutput{Result: s} },
	unpack: func(o *StreamToolOutput) (*schema.StreamReader[string], bool) { return o.Result, o.Result != nil },
	output: func(s *schema.StreamReader[string]) *ToolCallOutput { return &ToolCallOutput{TextStream: s} },
	result: func(o *ToolCallOutput) (*schema.StreamReader[string], error) { return o.AsTextStream(), nil },
}

var resultOutputs = outputForms[*schema.ToolResult, EnhancedInvokableToolOutput]{
	pack: func(v *schema.ToolResult) *EnhancedInvokableToolOutput {
		return &EnhancedInvokableToolOutput{Result: v}
	},
	unpack: func(o *EnhancedInvokableToolOutput) (*schema.ToolResult, bool) { return o.Result, true },
	output: func(v *schema.ToolResult) *ToolCallOutput { return &ToolCallOutput{Result: v} },
	result: (*ToolCallOutput).AsResult,
}

type resultStream = *schema.StreamReader[*schema.ToolResult]

var resultStreamOutputs = outputForms[resultStream, EnhancedStreamableToolOutput]{
	pack:   func(s resultStream) *EnhancedStreamableToolOutput { return &EnhancedStreamableToolOutput{Result: s} },
	unpack: func(o *EnhancedStreamableToolOutput) (resultStream, bool) { return o.Result, o.Result != nil },
	output: func(s resultStream) *ToolCallOutput { return &ToolCallOutput{ResultStream: s} },
	result: func(o *ToolCallOutput) (resultStream, error) { return o.AsResultStream(), nil },
}

// toolChain is a call of one kind of tool inside some of its middlewares, as the last of them made it: plain, for that
// kind, or for every kind. It is converted only where the next middleware is not of that form.
type toolChain[R, O any, E ~func(context.Context, *ToolInput) (*O, error)] struct {
	forms *outputForms[R, O]
	plain toolCallFunc[R]
	kind  E
	every ToolCallEndpoint
}

// wrapCall puts middlewares around a call; the first one is outermost. pick takes the function for the kind out of one.
func wrapCall[R, O any, E ~func(context.Context, *ToolInput) (*O, error), W ~func(E) E](
	form InternalToolForm, forms outputForms[R, O], call toolCallFunc[R], middlewares []ToolMiddleware,
	pick func(*ToolMiddleware) W,
) toolCallFunc[R] {
	c := toolChain[R, O, E]{forms: &forms, plain: call}
	for i := range slices.Backward(middlewares) {
		m := &middlewares[i]
		wrap := pick(m)
		if wrap == nil && m.Every == nil && m.forForm == nil {
			continue
		}
		if m.Name != "" {
			c.plain, c.kind, c.every = leaveMiddleware(c.asPlain()), nil, nil
		}
		if wrap != nil {
			c.plain, c.kind, c.every = nil, wrap(c.asKind()), nil
		}
		if m.Every != nil {
			c.plain, c.kind, c.every = nil, nil, checked(m.Every(c.asEvery()))
		}
		if m.forForm != nil {
			c.plain, c.kind, c.every = nil, nil, m.forForm(form, c.asEvery())
		}
		if m.Name != "" {
			c.plain, c.kind, c.every = enterMiddleware(m.Name, c.asPlain()), nil, nil
		}
	}
	return c.asPlain()
}

func (c *toolChain[R, O, E]) asPlain() toolCallFunc[R] {
	forms, kind, every := c.forms, c.kind, c.every
	switch {
	case kind != nil:
		return func(ctx context.Context, in *ToolInput) (R, error) { return forms.ofKind(kind(ctx, in)) }
	case every != nil:
		return func(ctx context.Context, in *ToolInput) (R, error) { return forms.ofEvery(every(ctx, in)) }
	}
	return c.plain
}

func (c *toolChain[R, O, E]) asKind() E {
	if c.kind != nil {
		return c.kind
	}
	forms, plain := c.forms, c.asPlain()
	return func(ctx context.Context, in *ToolInput) (*O, error) {
		v, err := plain(ctx, in)
		if err != nil {
			return nil, err
		}
		return forms.pack(v), nil
	}
}

func (c *toolChain[R, O, E]) asEvery() ToolCallEndpoint {
	if c.every != nil {
		return c.every
	}
	forms, plain := c.forms, c.asPlain()
	return func(ctx context.Context, in *ToolInput) (*ToolCallOutput, error) {
		v, err := plain(ctx, in)
		if err != nil {
			return nil, err
		}
		return forms.output(v), nil
	}
}

// ofKind is the result of a middleware for the kind.
func (f *outputForms[R, O]) ofKind(out *O, err error) (v R, _ error) {
	if err != nil {
		return v, err
	}
	if out == nil {
		return v, errNilToolOutput
	}
	v, ok := f.unpack(out)
	if !ok {
		return v, errNilToolOutput
	}
	return v, nil
}

// ofEvery is the result of a middleware for every kind.
func (f *outputForms[R, O]) ofEvery(out *ToolCallOutput, err error) (v R, _ error) {
	if err != nil {
		return v, err
	}
	return f.result(out)
}

// checked has a middleware for every kind return an output or an error.
func checked(endpoint ToolCallEndpoint) ToolCallEndpoint {
	return func(ctx context.Context, in *ToolInput) (*ToolCallOutput, error) {
		out, err := endpoint(ctx, in)
		if err == nil && out == nil {
			err = errNilToolOutput
		}
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// middlewareContext is the context of a middleware with a name, below the call, or the context of what it wraps, at the
// call.
type middlewareContext struct {
	context.Context
	frame core.Frame
	// call is the frame of the call in the context of the middleware, nil in the context of what it wraps.
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

// enterMiddleware has a call run at the address of a middleware, and blames that for a panic.
func enterMiddleware[R any](name string, call toolCallFunc[R]) toolCallFunc[R] {
	segment := core.AddressSegment{Type: AddressSegmentMiddleware, ID: name}
	return func(ctx context.Context, in *ToolInput) (_ R, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("tool middleware '%s': %w", name, safe.NewPanicError(v, debug.Stack()))
			}
		}()
		own := core.FrameFrom(ctx)
		return call(&middlewareContext{Context: ctx, frame: own.EnterAround(ctx, &segment), call: own}, in)
	}
}

// leaveMiddleware has a call that a middleware wraps run at its own address again, with what the middleware has put
// into the context. If the middleware has entered an address itself, that stays.
func leaveMiddleware[R any](call toolCallFunc[R]) toolCallFunc[R] {
	return func(ctx context.Context, in *ToolInput) (_ R, err error) {
		defer safe.Recover(&err) // it is not this middleware that panics
		inside, _ := ctx.Value(middlewareKey{}).(*middlewareContext)
		if inside != nil && inside.call != nil && core.FrameFrom(ctx) == &inside.frame {
			ctx = &middlewareContext{Context: ctx, frame: *inside.call}
		}
		return call(ctx, in)
	}
}
