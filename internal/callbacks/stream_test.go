package callbacks

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Rules components/K14, components/K15.
func TestStream_EveryReaderSeesEverything(t *testing.T) {
	j := &journal{}
	broken := errors.New("broken")
	source, w := schema.Pipe[int](3)
	w.Send(1, nil)
	w.Send(0, broken)
	w.Send(2, nil)
	w.Close()

	ctx := Init(background, &RunInfo{Name: "1"}, &recorder{"a", j}, &recorder{"b", j})
	ctx, rest := OnEndWithStreamOutput(ctx, source)
	require.Equal(t, []any{1, broken, 2}, drain(rest))
	require.Equal(t, []string{"a streamend 1 [1 broken 2]", "b streamend 1 [1 broken 2]"}, j.take())
	OnError(ctx, broken)
	require.Len(t, j.take(), 2, "only what the component reports is an error")
}

// Rule components/K14.
func TestStream_ReturnsTheSameReaderWithoutHandlers(t *testing.T) {
	j := &journal{}
	sr := schema.StreamReaderFromArray([]int{1})
	ctx := Init(background, nil, newStatic("s", j, Timings(0).With(TimingOnEnd)))
	_, out := OnStartWithStreamInput(ctx, sr)
	require.Same(t, sr, out)
	_, out = OnEndWithStreamOutput(ctx, sr)
	require.Same(t, sr, out)
}

// Rule components/K14.
func TestStream_HandlerOwnsItsCopy(t *testing.T) {
	var kept *schema.StreamReader[CallbackOutput]
	keep := &funcs{onStreamEnd: func(
		ctx context.Context, _ *RunInfo, output *schema.StreamReader[CallbackOutput],
	) context.Context {
		kept = output
		return ctx
	}}
	source, w := schema.Pipe[int](1)
	_, rest := OnEndWithStreamOutput(Init(background, nil, keep), source)
	rest.Close()
	require.False(t, w.Send(1, nil), "open as long as the handler's copy is")
	kept.Close()
	require.True(t, w.Send(2, nil))
}

// Rule components/B13.1.5.
func TestStream_PassesNilElements(t *testing.T) {
	j := &journal{}
	ctx := Init(background, &RunInfo{}, &recorder{"a", j})
	_, rest := OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray([]error{nil, io.ErrUnexpectedEOF}))
	require.Equal(t, []any{nil, io.ErrUnexpectedEOF}, drain(rest))
	require.Equal(t, []string{"a streamend  [<nil> unexpected EOF]"}, j.take())
}

// Rule components/B13.1.4.
func TestStream_ReturnsANilStreamUntouched(t *testing.T) {
	j := &journal{}
	ctx := Init(background, &RunInfo{}, &recorder{"a", j})
	_, rest := OnStartWithStreamInput[int](ctx, nil)
	require.Nil(t, rest)
	_, rest = OnEndWithStreamOutput[int](ctx, nil)
	require.Nil(t, rest)
	require.Empty(t, j.take())
}

// Rule components/B13.1.6.
func TestStream_ClosesAForgottenCopy(t *testing.T) {
	forget := &funcs{onStreamEnd: func(
		ctx context.Context, _ *RunInfo, output *schema.StreamReader[CallbackOutput],
	) context.Context {
		_, _ = output.Recv()
		return ctx
	}}
	source, w := schema.Pipe[int](1)
	w.Send(0, nil)
	_, rest := OnEndWithStreamOutput(Init(background, nil, forget), source)
	rest.Close()
	closed := make(chan struct{})
	go func() {
		for !w.Send(1, nil) { // waits for room until the reader is closed
		}
		close(closed)
	}()
	deadline := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case <-closed:
			return
		case <-deadline:
			t.Fatal("the source is still open")
		default:
		}
	}
}

func TestStream_PanicClosesCopies(t *testing.T) {
	bad := &funcs{onStreamEnd: func(context.Context, *RunInfo, *schema.StreamReader[CallbackOutput]) context.Context {
		panic("boom")
	}}
	j := &journal{}

	source, w := schema.Pipe[int](1)
	ctx := Init(background, &RunInfo{}, bad, &recorder{"never", j})
	require.PanicsWithValue(t, "boom", func() { OnEndWithStreamOutput(ctx, source) })
	require.True(t, w.Send(1, nil), "nobody is left to read")

	source, w = schema.Pipe[int](2)
	w.Send(1, nil)
	w.Close()
	ctx = Init(background, &RunInfo{}, bad, &recorder{"a", j})
	_, rest, err := FireEndStream(ctx, source, Copies, OutputView)
	require.ErrorContains(t, err, "boom")
	require.Equal(t, []string{"a streamend  [1]"}, j.take())
	require.Equal(t, []any{1}, drain(rest))

	source, w = schema.Pipe[int](1)
	_, rest, err = FireEndStream(Init(background, nil, bad), source, Copies, OutputView)
	require.ErrorContains(t, err, "boom")
	rest.Close()
	require.True(t, w.Send(1, nil), "the copy of the handler that panicked is closed")
}

// erased is a stream whose element type is not known where it is fired.
type erased interface {
	split(n int) []erased
	input() *schema.StreamReader[CallbackInput]
}

type erasedReader[T any] struct{ *schema.StreamReader[T] }

func (e erasedReader[T]) split(n int) []erased {
	var out []erased
	for _, c := range e.Copy(n) {
		out = append(out, erasedReader[T]{c})
	}
	return out
}

func (e erasedReader[T]) input() *schema.StreamReader[CallbackInput] {
	return InputView(e.StreamReader)
}

func TestStream_ErasedElementType(t *testing.T) {
	j := &journal{}
	s := (*State)(nil).Init(&RunInfo{Name: "1"}, &recorder{"a", j})
	ctx := WithState(background, s.Started())
	next, rest, err := FireStartStream[erased](ctx, erasedReader[int]{schema.StreamReaderFromArray([]int{1, 2})},
		erased.split, erased.input)
	require.NoError(t, err)
	require.True(t, ctx == next)
	require.Equal(t, []string{"a streamstart 1 [1 2]"}, j.take())
	require.Equal(t, []any{1, 2}, drain(rest.(erasedReader[int]).StreamReader))
}

func TestStream_Arithmetic(t *testing.T) {
	sum := 0
	var mu sync.Mutex
	add := func(v any) {
		mu.Lock()
		defer mu.Unlock()
		if n, ok := v.(int); ok {
			sum += n
		} else {
			sum += 3 // the error "3"
		}
	}
	h := &adder{add: add}
	ctx := Init(background, &RunInfo{}, h)
	ctx = OnStart(ctx, 1)
	ctx = OnEnd(ctx, 2)
	ctx = OnError(ctx, errors.New("3"))

	ctx = Reuse(ctx, &RunInfo{})
	ctx, in := OnStartWithStreamInput(ctx, counting())
	for _, v := range drain(in) {
		add(v)
	}
	_, out := OnEndWithStreamOutput(ctx, counting())
	for _, v := range drain(out) {
		add(v)
	}
	require.Equal(t, 186, sum)
}

// counting returns a narrow pipe that a goroutine fills with 0 to 9.
func counting() *schema.StreamReader[int] {
	sr, w := schema.Pipe[int](2)
	go func() {
		defer w.Close()
		for i := range 10 {
			w.Send(i, nil)
		}
	}()
	return sr
}

type adder struct{ add func(any) }

func (a *adder) OnStart(ctx context.Context, _ *RunInfo, v CallbackInput) context.Context {
	a.add(v)
	return ctx
}

func (a *adder) OnEnd(ctx context.Context, _ *RunInfo, v CallbackOutput) context.Context {
	a.add(v)
	return ctx
}

func (a *adder) OnError(ctx context.Context, _ *RunInfo, err error) context.Context {
	a.add(err)
	return ctx
}

func (a *adder) OnStartWithStreamInput(
	ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackInput],
) context.Context {
	for _, v := range drain(sr) {
		a.add(v)
	}
	return ctx
}

func (a *adder) OnEndWithStreamOutput(
	ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackOutput],
) context.Context {
	for _, v := range drain(sr) {
		a.add(v)
	}
	return ctx
}

// Rule components/K16.
func TestStream_UnreadCopyBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept *schema.StreamReader[CallbackOutput]
		keep := &funcs{onStreamEnd: func(
			ctx context.Context, _ *RunInfo, output *schema.StreamReader[CallbackOutput],
		) context.Context {
			kept = output
			return ctx
		}}
		_, rest := OnEndWithStreamOutput(Init(t.Context(), nil, keep), counting())
		require.Len(t, drain(rest), 10)
		require.Len(t, drain(kept), 10)
	})
}
