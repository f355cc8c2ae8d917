// Package callbacks makes one callback handler out of handlers for single kinds of component, each with the payload
// types of its kind:
//
//	handler := callbacks.NewHandlerHelper().
//		ChatModel(&callbacks.ModelCallbackHandler{
//			OnEnd: func(ctx context.Context, info *callbacks.RunInfo, out *model.CallbackOutput) context.Context {
//				log.Println(info.Name, out.TokenUsage)
//				return ctx
//			},
//		}).
//		Handler()
package callbacks

import (
	"context"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/registry"
	"github.com/weftgo/weft/schema"
)

// HandlerHelper collects handlers by the kind of component. Its setters may be called at any time, also while graphs
// run with its handler: they are seen from the next firing on.
type HandlerHelper struct {
	// byKind has nil for a kind whose handler was taken away.
	byKind registry.Map[components.Component, kindHandler]
}

// kindHandler handles the components of one kind.
type kindHandler interface {
	callbacks.Handler
	callbacks.TimingChecker
}

// NewHandlerHelper makes a helper without handlers.
func NewHandlerHelper() *HandlerHelper { return &HandlerHelper{} }

// Handler returns the handler that all kinds go through. It always shows what is set on the helper now.
func (c *HandlerHelper) Handler() callbacks.Handler { return (*dispatcher)(c) }

// Graph sets the handler of graphs, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Graph(handler callbacks.Handler) *HandlerHelper {
	return c.setPlain(compose.ComponentOfGraph, handler)
}

// Chain sets the handler of chains, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Chain(handler callbacks.Handler) *HandlerHelper {
	return c.setPlain(compose.ComponentOfChain, handler)
}

// Workflow sets the handler of workflows, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Workflow(handler callbacks.Handler) *HandlerHelper {
	return c.setPlain(compose.ComponentOfWorkflow, handler)
}

// Lambda sets the handler of lambdas, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Lambda(handler callbacks.Handler) *HandlerHelper {
	return c.setPlain(compose.ComponentOfLambda, handler)
}

func (c *HandlerHelper) setPlain(kind components.Component, h callbacks.Handler) *HandlerHelper {
	if h == nil {
		return c.put(kind, nil)
	}
	return c.put(kind, plain{h})
}

// set is put for a typed handler, where a nil one must not become an interface that is not nil.
func set[I, O any](c *HandlerHelper, kind components.Component, h *typed[I, O]) *HandlerHelper {
	if h == nil {
		return c.put(kind, nil)
	}
	return c.put(kind, h)
}

func (c *HandlerHelper) put(kind components.Component, h kindHandler) *HandlerHelper {
	c.byKind.Set(kind, h)
	return c
}

// dispatcher is the helper as a handler.
type dispatcher HandlerHelper

func (d *dispatcher) handler(info *callbacks.RunInfo) kindHandler {
	if info == nil {
		return nil
	}
	h, _ := d.byKind.Get(info.Component)
	return h
}

func (d *dispatcher) Needed(ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	h := d.handler(info)
	return h != nil && h.Needed(ctx, info, timing)
}

func (d *dispatcher) OnStart(
	ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput,
) context.Context {
	if h := d.handler(info); h != nil {
		return unlessNil(h.OnStart(ctx, info, input), ctx)
	}
	return ctx
}

func (d *dispatcher) OnEnd(
	ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput,
) context.Context {
	if h := d.handler(info); h != nil {
		return unlessNil(h.OnEnd(ctx, info, output), ctx)
	}
	return ctx
}

func (d *dispatcher) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	if h := d.handler(info); h != nil {
		return unlessNil(h.OnError(ctx, info, err), ctx)
	}
	return ctx
}

func (d *dispatcher) OnStartWithStreamInput(
	ctx context.Context, info *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	if h := d.handler(info); h != nil {
		return unlessNil(h.OnStartWithStreamInput(ctx, info, input), ctx)
	}
	input.Close()
	return ctx
}

func (d *dispatcher) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	if h := d.handler(info); h != nil {
		return unlessNil(h.OnEndWithStreamOutput(ctx, info, output), ctx)
	}
	output.Close()
	return ctx
}

// unlessNil returns next, or ctx if a handler returned no context.
func unlessNil(next, ctx context.Context) context.Context {
	if next == nil {
		return ctx
	}
	return next
}

// plain is a handler that gets the payloads as they are.
type plain struct{ callbacks.Handler }

func (p plain) Needed(ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	checker, ok := p.Handler.(callbacks.TimingChecker)
	return !ok || checker.Needed(ctx, info, timing)
}

// typed is a handler of one kind: it turns payloads into the kind's types I and O.
type typed[I, O any] struct {
	input       func(callbacks.CallbackInput) I
	output      func(callbacks.CallbackOutput) O
	onStart     func(context.Context, *callbacks.RunInfo, I) context.Context
	onEnd       func(context.Context, *callbacks.RunInfo, O) context.Context
	onEndStream func(context.Context, *callbacks.RunInfo, *schema.StreamReader[O]) context.Context
	onError     func(context.Context, *callbacks.RunInfo, error) context.Context
}

func (t *typed[I, O]) Needed(_ context.Context, _ *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	if t == nil {
		return false
	}
	switch timing {
	case callbacks.TimingOnStart:
		return t.onStart != nil
	case callbacks.TimingOnEnd:
		return t.onEnd != nil
	case callbacks.TimingOnError:
		return t.onError != nil
	case callbacks.TimingOnEndWithStreamOutput:
		return t.onEndStream != nil
	}
	return false // no component takes a stream
}

func (t *typed[I, O]) OnStart(
	ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput,
) context.Context {
	if t.onStart == nil {
		return ctx
	}
	return t.onStart(ctx, info, t.input(input))
}

func (t *typed[I, O]) OnEnd(
	ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput,
) context.Context {
	if t.onEnd == nil {
		return ctx
	}
	return t.onEnd(ctx, info, t.output(output))
}

func (t *typed[I, O]) OnError(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
	if t.onError == nil {
		return ctx
	}
	return t.onError(ctx, info, err)
}

func (t *typed[I, O]) OnStartWithStreamInput(
	ctx context.Context, _ *callbacks.RunInfo, input *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	input.Close()
	return ctx
}

func (t *typed[I, O]) OnEndWithStreamOutput(
	ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	if t.onEndStream == nil {
		output.Close()
		return ctx
	}
	return t.onEndStream(ctx, info,
		schema.StreamReaderWithConvert(output, func(chunk callbacks.CallbackOutput) (O, error) {
			return t.output(chunk), nil
		}))
}

func inputAs[T any](in callbacks.CallbackInput) T {
	v, _ := in.(T)
	return v
}

func outputAs[T any](out callbacks.CallbackOutput) T {
	v, _ := out.(T)
	return v
}
