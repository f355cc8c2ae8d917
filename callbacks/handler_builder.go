package callbacks

import (
	"context"

	engine "github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// HandlerBuilder makes a [Handler] of functions. Timings without a function cost nothing when they are fired. The zero
// value is ready to use.
type HandlerBuilder struct {
	functions handlerFunctions
}

// NewHandlerBuilder returns an empty builder.
func NewHandlerBuilder() *HandlerBuilder {
	return &HandlerBuilder{}
}

// OnStartFn sets what is called at [TimingOnStart]; nil unsets it.
func (hb *HandlerBuilder) OnStartFn(
	fn func(ctx context.Context, info *RunInfo, input CallbackInput) context.Context,
) *HandlerBuilder {
	hb.functions.onStart = fn
	return hb
}

// OnEndFn sets what is called at [TimingOnEnd]; nil unsets it.
func (hb *HandlerBuilder) OnEndFn(
	fn func(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context,
) *HandlerBuilder {
	hb.functions.onEnd = fn
	return hb
}

// OnErrorFn sets what is called at [TimingOnError]; nil unsets it.
func (hb *HandlerBuilder) OnErrorFn(
	fn func(ctx context.Context, info *RunInfo, err error) context.Context,
) *HandlerBuilder {
	hb.functions.onError = fn
	return hb
}

// OnStartWithStreamInputFn sets what is called at [TimingOnStartWithStreamInput]; nil unsets it. The function owns the
// reader and must close it.
func (hb *HandlerBuilder) OnStartWithStreamInputFn(
	fn func(ctx context.Context, info *RunInfo, input *schema.StreamReader[CallbackInput]) context.Context,
) *HandlerBuilder {
	hb.functions.onStartWithStreamInput = fn
	return hb
}

// OnEndWithStreamOutputFn sets what is called at [TimingOnEndWithStreamOutput]; nil unsets it. The function owns the
// reader and must close it.
func (hb *HandlerBuilder) OnEndWithStreamOutputFn(
	fn func(ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput]) context.Context,
) *HandlerBuilder {
	hb.functions.onEndWithStreamOutput = fn
	return hb
}

// Build returns a handler with the functions set so far; later changes of the builder do not reach it. It implements
// [TimingChecker].
func (hb *HandlerBuilder) Build() Handler {
	built := &builtHandler{functions: hb.functions}
	built.timings = built.functions.timings()
	return built
}

type handlerFunctions struct {
	onStart                func(ctx context.Context, info *RunInfo, input CallbackInput) context.Context
	onEnd                  func(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context
	onError                func(ctx context.Context, info *RunInfo, err error) context.Context
	onStartWithStreamInput func(ctx context.Context, info *RunInfo,
		input *schema.StreamReader[CallbackInput],
	) context.Context
	onEndWithStreamOutput func(ctx context.Context, info *RunInfo,
		output *schema.StreamReader[CallbackOutput],
	) context.Context
}

func (f *handlerFunctions) timings() engine.Timings {
	var set engine.Timings
	for timing, needed := range [...]bool{
		TimingOnStart:                f.onStart != nil,
		TimingOnEnd:                  f.onEnd != nil,
		TimingOnError:                f.onError != nil,
		TimingOnStartWithStreamInput: f.onStartWithStreamInput != nil,
		TimingOnEndWithStreamOutput:  f.onEndWithStreamOutput != nil,
	} {
		if needed {
			set = set.With(CallbackTiming(timing))
		}
	}
	return set
}

// builtHandler is an immutable handler made by a HandlerBuilder. Methods without a function, when called directly,
// return their context and close their stream.
type builtHandler struct {
	functions handlerFunctions
	timings   engine.Timings
}

var _ engine.StaticHandler = (*builtHandler)(nil)

func (h *builtHandler) NeededTimings() engine.Timings { return h.timings }

func (h *builtHandler) Needed(_ context.Context, _ *RunInfo, timing CallbackTiming) bool {
	return h.timings.Has(timing)
}

func (h *builtHandler) OnStart(ctx context.Context, info *RunInfo, input CallbackInput) context.Context {
	if h.functions.onStart == nil {
		return ctx
	}
	return h.functions.onStart(ctx, info, input)
}

func (h *builtHandler) OnEnd(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context {
	if h.functions.onEnd == nil {
		return ctx
	}
	return h.functions.onEnd(ctx, info, output)
}

func (h *builtHandler) OnError(ctx context.Context, info *RunInfo, err error) context.Context {
	if h.functions.onError == nil {
		return ctx
	}
	return h.functions.onError(ctx, info, err)
}

func (h *builtHandler) OnStartWithStreamInput(
	ctx context.Context, info *RunInfo, input *schema.StreamReader[CallbackInput],
) context.Context {
	if h.functions.onStartWithStreamInput == nil {
		closeStream(input)
		return ctx
	}
	return h.functions.onStartWithStreamInput(ctx, info, input)
}

func (h *builtHandler) OnEndWithStreamOutput(
	ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput],
) context.Context {
	if h.functions.onEndWithStreamOutput == nil {
		closeStream(output)
		return ctx
	}
	return h.functions.onEndWithStreamOutput(ctx, info, output)
}

func closeStream[T any](sr *schema.StreamReader[T]) {
	if sr != nil {
		sr.Close()
	}
}
