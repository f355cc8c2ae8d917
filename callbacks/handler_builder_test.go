package callbacks

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

var background = context.Background()

var allTimings = []CallbackTiming{TimingOnStart, TimingOnEnd, TimingOnError, TimingOnStartWithStreamInput,
	TimingOnEndWithStreamOutput}

// counting sets the functions for the given timings to count their calls.
func counting(hb *HandlerBuilder, calls *[5]int, timings ...CallbackTiming) *HandlerBuilder {
	for _, timing := range timings {
		switch timing {
		case TimingOnStart:
			hb.OnStartFn(func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context { calls[timing]++; return ctx })
		case TimingOnEnd:
			hb.OnEndFn(func(ctx context.Context, _ *RunInfo, _ CallbackOutput) context.Context { calls[timing]++; return ctx })
		case TimingOnError:
			hb.OnErrorFn(func(ctx context.Context, _ *RunInfo, _ error) context.Context { calls[timing]++; return ctx })
		case TimingOnStartWithStreamInput:
			hb.OnStartWithStreamInputFn(func(
				ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackInput],
			) context.Context {
				calls[timing]++
				sr.Close()
				return ctx
			})
		case TimingOnEndWithStreamOutput:
			hb.OnEndWithStreamOutputFn(func(
				ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackOutput],
			) context.Context {
				calls[timing]++
				sr.Close()
				return ctx
			})
		}
	}
	return hb
}

// fireAll fires every timing once with the public functions.
func fireAll(ctx context.Context) {
	ctx = OnStart(ctx, 1)
	OnEnd(ctx, 2)
	OnError(ctx, errors.New("3"))
	ctx, in := OnStartWithStreamInput(ctx, schema.StreamReaderFromArray([]int{4}))
	in.Close()
	_, out := OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray([]int{5}))
	out.Close()
}

func needed(h Handler) (set []CallbackTiming) {
	for timing := range CallbackTiming(16) {
		if h.(TimingChecker).Needed(background, nil, timing) {
			set = append(set, timing)
		}
	}
	return set
}

// Rule components/K18.
func TestHandlerBuilder_NeedsOnlyTheSetTimings(t *testing.T) {
	require.Empty(t, needed(NewHandlerBuilder().Build()))
	for _, timing := range allTimings {
		var calls, want [5]int
		h := counting(NewHandlerBuilder(), &calls, timing).Build()
		require.Equal(t, []CallbackTiming{timing}, needed(h))
		fireAll(InitCallbacks(background, nil, h))
		want[timing] = 1
		require.Equal(t, want, calls)
	}
	var calls [5]int
	h := counting(&HandlerBuilder{}, &calls, allTimings...).Build()
	require.Equal(t, allTimings, needed(h))
	fireAll(InitCallbacks(background, nil, h))
	require.Equal(t, [5]int{1, 1, 1, 1, 1}, calls)
}

// Rule components/K18.
func TestHandlerBuilder_BuildIsASnapshot(t *testing.T) {
	var calls [5]int
	hb := counting(NewHandlerBuilder(), &calls, allTimings...)
	before := hb.Build()
	require.Same(t, hb,
		hb.OnStartFn(nil).OnEndFn(nil).OnErrorFn(nil).OnStartWithStreamInputFn(nil).OnEndWithStreamOutputFn(nil))
	require.Empty(t, needed(hb.Build()), "nil unsets")
	require.Equal(t, allTimings, needed(before))
	fireAll(InitCallbacks(background, nil, before))
	require.Equal(t, [5]int{1, 1, 1, 1, 1}, calls)
}

// Rule components/K19.
func TestHandlerBuilder_UnsetMethodsReturnTheContext(t *testing.T) {
	h := (&HandlerBuilder{}).Build()
	require.True(t, background == h.OnStart(background, nil, 1))
	require.True(t, background == h.OnEnd(background, nil, 1))
	require.True(t, background == h.OnError(background, nil, errors.New("x")))
	require.True(t, background == h.OnStartWithStreamInput(background, nil, nil))
	require.True(t, background == h.OnEndWithStreamOutput(background, nil, nil))

	in, inWriter := schema.Pipe[CallbackInput](1)
	h.OnStartWithStreamInput(background, nil, in)
	require.True(t, inWriter.Send(1, nil), "the stream is closed")
	out, outWriter := schema.Pipe[CallbackOutput](1)
	h.OnEndWithStreamOutput(background, nil, out)
	require.True(t, outWriter.Send(1, nil), "the stream is closed")
}
