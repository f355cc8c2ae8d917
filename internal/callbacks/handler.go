// Package callbacks is the engine that calls handlers when a component starts, ends or fails.
//
// A context carries one [State]: which handlers apply and for which run they fire next. Components use the On
// functions (the public package callbacks forwards to them); orchestrators set states up and use the Fire functions,
// which turn panics of handlers into errors.
// It must never start a goroutine, hold a lock while a handler runs, or write to a slice it was given.
package callbacks

import (
	"context"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// RunInfo says what is running. Handlers get the same value for the start and the end of one run and must not
// change it.
type RunInfo struct {
	// Name is the display name given by the application, such as a node's name; it may be empty.
	Name string
	// Type is the implementation, such as "OpenAI"; see components.Typer.
	Type string
	// Component is the kind, such as components.ComponentOfChatModel.
	Component components.Component
}

// CallbackInput holds the arguments of a component's call. The package of each component kind has a Conv function that
// turns it into that kind's payload type.
type CallbackInput any

// CallbackOutput holds the result of a component's call; see CallbackInput.
type CallbackOutput any

// Handler observes runs of components. Each method returns the context that continues from there: to the next
// handler, and from a start to the component and to the same handler's end. Returning nil means unchanged.
//
// Methods run in the goroutine of the component, which waits for them, so a handler that reads a stream to its end
// should do so in a goroutine of its own. Values are shared with the component and other handlers and must not be
// changed; streams are the handler's own copy, which it must close. Handlers are called concurrently.
type Handler interface {
	// OnStart is called before a component that takes a whole input.
	OnStart(ctx context.Context, info *RunInfo, input CallbackInput) context.Context
	// OnEnd is called after a component that returned a whole output.
	OnEnd(ctx context.Context, info *RunInfo, output CallbackOutput) context.Context
	// OnError is called instead of an end when the component returned an error. Errors inside a stream already
	// returned are seen only by who reads it.
	OnError(ctx context.Context, info *RunInfo, err error) context.Context
	// OnStartWithStreamInput is called before a component that takes a stream.
	OnStartWithStreamInput(ctx context.Context, info *RunInfo, input *schema.StreamReader[CallbackInput]) context.Context
	// OnEndWithStreamOutput is called after a component that returned a stream.
	OnEndWithStreamOutput(ctx context.Context, info *RunInfo, output *schema.StreamReader[CallbackOutput]) context.Context
}

// TimingChecker may be implemented by a [Handler] to say which timings it needs. A timing that no handler needs costs
// nothing: no boxing, no copy of a stream. Without it a handler gets every timing.
type TimingChecker interface {
	Needed(ctx context.Context, info *RunInfo, timing CallbackTiming) bool
}

// CallbackTiming is the moment a handler is called at: one for each method of [Handler].
type CallbackTiming uint8

// The timings.
const (
	TimingOnStart CallbackTiming = iota
	TimingOnEnd
	TimingOnError
	TimingOnStartWithStreamInput
	TimingOnEndWithStreamOutput
)

func (t CallbackTiming) isStart() bool {
	return t == TimingOnStart || t == TimingOnStartWithStreamInput
}

// Timings is a set of timings.
type Timings uint8

const allTimings Timings = 1<<TimingOnStart | 1<<TimingOnEnd | 1<<TimingOnError |
	1<<TimingOnStartWithStreamInput | 1<<TimingOnEndWithStreamOutput

// With returns the set with a timing added.
func (s Timings) With(timing CallbackTiming) Timings { return s | 1<<timing }

// Has reports whether the set has a timing; unknown timings are in no set.
func (s Timings) Has(timing CallbackTiming) bool { return s&(1<<timing) != 0 }

// StaticHandler is implemented by handlers whose needed timings never change, so that the engine asks once and not at
// every firing. The answer replaces [TimingChecker].
type StaticHandler interface {
	Handler
	NeededTimings() Timings
}
