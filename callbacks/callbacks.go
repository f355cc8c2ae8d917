// Package callbacks lets an application watch every run of every component: what went in, what came out, what failed.
//
// A [Handler] is registered for one run (with a run option of the orchestrator or [InitCallbacks]) or for the whole
// process ([AppendGlobalHandlers]). The context carries the handlers down to the components. Orchestrators fire them
// around each component; a component that answers true to components.IsCallbacksEnabled fires them itself:
//
//	ctx = callbacks.EnsureRunInfo(ctx, "MyRetriever", components.ComponentOfRetriever)
//	ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{Query: query})
//	docs, err := r.search(ctx, query)
//	if err != nil {
//		callbacks.OnError(ctx, err)
//		return nil, err
//	}
//	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
//
// Handlers of one firing run one after the other in the goroutine of the component. Ends call them in the order of
// registration, the handlers of the run before the global ones; starts in the reverse order. What a handler of a start
// puts into the context is there at the end of the same run.
package callbacks

import (
	"context"

	"github.com/weftgo/weft/components"
	engine "github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// RunInfo says what is running: its Name, as the application gave it (it may be empty), its Type, the implementation,
// such as "OpenAI", and its Component, the kind, such as components.ComponentOfChatModel.
//
//   - Name: as the application gave it, may be empty
//   - Type: the implementation, such as "OpenAI"
//   - Component: the kind, such as components.ComponentOfChatModel
type RunInfo = engine.RunInfo

// CallbackInput holds the arguments of a component's call. The package of each component kind has a ConvCallbackInput that
// turns it into that kind's payload.
type CallbackInput = engine.CallbackInput

// CallbackOutput holds the result of a component's call. The package of each component kind has a ConvCallbackOutput that
// turns it into that kind's payload.
type CallbackOutput = engine.CallbackOutput

// Handler observes runs. [NewHandlerBuilder] makes one from functions. Its methods are OnStart, OnEnd, OnError,
// OnStartWithStreamInput and OnEndWithStreamOutput, with the parameters of the functions that the builder takes.
//
// Each method returns the context to continue with, nil for unchanged. Values are shared and must not be changed. A
// stream is the handler's own copy: it must be closed, and read in a goroutine of its own, since the component waits
// for the handler.
//
//   - OnStart: before a component that takes a value
//   - OnEnd: after a component that returned a value
//   - OnError: after a component that failed
//   - OnStartWithStreamInput: before a component that takes a stream
//   - OnEndWithStreamOutput: after a component that returned a stream
type Handler = engine.Handler

// TimingChecker may be implemented by a [Handler] to say which timings it needs; the others cost nothing then.
// Handlers made by a [HandlerBuilder] implement it. Its method is
//
//	Needed(ctx context.Context, info *RunInfo, timing CallbackTiming) bool
type TimingChecker = engine.TimingChecker

// CallbackTiming is the moment a handler is called at.
type CallbackTiming = engine.CallbackTiming

// The timings, one for each method of [Handler].
const (
	TimingOnStart                = engine.TimingOnStart
	TimingOnEnd                  = engine.TimingOnEnd
	TimingOnError                = engine.TimingOnError
	TimingOnStartWithStreamInput = engine.TimingOnStartWithStreamInput
	TimingOnEndWithStreamOutput  = engine.TimingOnEndWithStreamOutput
)

// OnStart reports to the handlers of ctx that a run starts. The RunInfo is the one that ctx was prepared with last
// ([EnsureRunInfo], [ReuseHandlers], [InitCallbacks] or an orchestrator); it is consumed, so that a second OnStart on
// the returned context has a nil RunInfo unless one is set again. The end of the run must be reported on the returned
// context. Without handlers ctx is returned unchanged. It does not recover panics of handlers.
func OnStart[T any](ctx context.Context, input T) context.Context {
	return engine.OnStart(ctx, input)
}

// OnEnd calls the handlers of ctx after the run started with OnStart has returned a value. It does not recover panics
// of handlers.
func OnEnd[T any](ctx context.Context, output T) context.Context {
	return engine.OnEnd(ctx, output)
}

// OnStartWithStreamInput is [OnStart] for a component that takes a stream. Handlers get copies; the component continues
// with the reader returned, which is input itself if no handler wanted one.
func OnStartWithStreamInput[T any](
	ctx context.Context, input *schema.StreamReader[T],
) (nextCtx context.Context, newStreamReader *schema.StreamReader[T]) {
	return engine.OnStartWithStreamInput(ctx, input)
}

// OnEndWithStreamOutput is [OnEnd] for a component that returns a stream. Handlers get copies; the component returns
// the reader returned here, which is output itself if no handler wanted one. Errors inside the stream are not reported
// to OnError.
func OnEndWithStreamOutput[T any](
	ctx context.Context, output *schema.StreamReader[T],
) (nextCtx context.Context, newStreamReader *schema.StreamReader[T]) {
	return engine.OnEndWithStreamOutput(ctx, output)
}

// OnError calls the handlers of ctx after the run started with OnStart has failed. It does not recover panics of
// handlers.
func OnError(ctx context.Context, err error) context.Context {
	return engine.OnError(ctx, err)
}

// EnsureRunInfo makes sure that the next start on ctx has a RunInfo. Components that fire their own callbacks call it
// first: inside an orchestrator, which has set one already, it returns ctx unchanged; elsewhere it sets a nameless one.
func EnsureRunInfo(ctx context.Context, typ string, comp components.Component) context.Context {
	return engine.EnsureRunInfo(ctx, typ, comp)
}

// ReuseHandlers returns a context with the handlers of ctx whose next start is for info. A component that calls
// another component which does not fire its own callbacks uses it to fire them around the call. Without handlers in
// ctx it is InitCallbacks(ctx, info).
func ReuseHandlers(ctx context.Context, info *RunInfo) context.Context {
	return engine.Reuse(ctx, info)
}

// InitCallbacks returns a context whose handlers are the given ones and the global ones, and whose next start is for
// info. Handlers of ctx are not inherited. nil handlers are skipped.
func InitCallbacks(ctx context.Context, info *RunInfo, handlers ...Handler) context.Context {
	return engine.Init(ctx, info, handlers...)
}

// InitCallbackHandlers replaces the global handlers.
//
// Deprecated: use [AppendGlobalHandlers].
func InitCallbackHandlers(handlers []Handler) {
	engine.SetGlobal(handlers)
}

// AppendGlobalHandlers adds handlers for all runs of the process. Runs that have begun are not affected. It is safe for
// concurrent use.
func AppendGlobalHandlers(handlers ...Handler) {
	engine.AppendGlobal(handlers...)
}
