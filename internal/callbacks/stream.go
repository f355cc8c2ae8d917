package callbacks

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// OnStartWithStreamInput is OnStart for a component that takes a stream. It returns the reader to continue with: a copy
// if a handler got one, else input itself. No handler is called for a nil stream.
func OnStartWithStreamInput[T any](
	ctx context.Context, input *schema.StreamReader[T],
) (nextCtx context.Context, newStreamReader *schema.StreamReader[T]) {
	ctx, s := begin(ctx)
	if input == nil {
		return ctx, nil
	}
	return fireStream(ctx, s, TimingOnStartWithStreamInput, Handler.OnStartWithStreamInput, input, Copies[T], InputView[T],
		nil)
}

// OnEndWithStreamOutput is OnEnd for a component that returned a stream; see OnStartWithStreamInput for the reader.
func OnEndWithStreamOutput[T any](
	ctx context.Context, output *schema.StreamReader[T],
) (nextCtx context.Context, newStreamReader *schema.StreamReader[T]) {
	if output == nil {
		return ctx, nil
	}
	return fireStream(ctx, FromContext(ctx), TimingOnEndWithStreamOutput, Handler.OnEndWithStreamOutput, output, Copies[T],
		OutputView[T], nil)
}

// FireStartStream is OnStartWithStreamInput for orchestrators; see FireStart. S is whatever the orchestrator holds
// streams in, and input is not nil: split makes n of one, which is not used any more, and view shows one to a handler,
// taking it over. For a plain reader these are [Copies] and [InputView].
func FireStartStream[S any](
	ctx context.Context, input S, split func(S, int) []S, view func(S) *schema.StreamReader[CallbackInput],
) (next context.Context, rest S, caught error) {
	next, rest = fireStream(ctx, FromContext(ctx), TimingOnStartWithStreamInput, Handler.OnStartWithStreamInput, input,
		split, view, &caught)
	return next, rest, caught
}

// FireEndStream is OnEndWithStreamOutput for orchestrators; see FireStartStream. view is [OutputView] for a plain
// reader.
func FireEndStream[S any](
	ctx context.Context, output S, split func(S, int) []S, view func(S) *schema.StreamReader[CallbackOutput],
) (next context.Context, rest S, caught error) {
	next, rest = fireStream(ctx, FromContext(ctx), TimingOnEndWithStreamOutput, Handler.OnEndWithStreamOutput, output,
		split, view, &caught)
	return next, rest, caught
}

// Copies is [schema.StreamReader.Copy] as a function.
func Copies[T any](sr *schema.StreamReader[T], n int) []*schema.StreamReader[T] {
	return sr.Copy(n)
}

// InputView shows a stream of any type to handlers of its start.
func InputView[T any](sr *schema.StreamReader[T]) *schema.StreamReader[CallbackInput] {
	return schema.StreamReaderWithConvert(sr, func(chunk T) (CallbackInput, error) { return chunk, nil })
}

// OutputView shows a stream of any type to handlers of its end.
func OutputView[T any](sr *schema.StreamReader[T]) *schema.StreamReader[CallbackOutput] {
	return schema.StreamReaderWithConvert(sr, func(chunk T) (CallbackOutput, error) { return chunk, nil })
}

// fireStream gives each handler that needs the timing a copy of the stream and returns one more.
func fireStream[S, V any](ctx context.Context, s *State, timing CallbackTiming, m method[*schema.StreamReader[V]],
	stream S, split func(S, int) []S, view func(S) *schema.StreamReader[V], caught *error) (context.Context, S) {

	var buf buffer
	handlers := s.needing(ctx, timing, buf[:0], caught)
	if len(handlers) == 0 {
		return ctx, stream
	}
	unread := split(stream, len(handlers)+1)
	var reader *schema.StreamReader[V]
	finished := false
	defer func() {
		if !finished { // a panic passes through: what is left will not be read
			reader.Close()
			for _, c := range unread {
				view(c).Close()
			}
		}
	}()
	info := s.info()
	for _, h := range handlers {
		reader, unread = view(unread[0]), unread[1:]
		reader.SetAutomaticClose() // a handler that forgets its copy must not keep the source open
		next, ok := call(ctx, h, m, info, reader, caught)
		if !ok {
			reader.Close()
		}
		ctx = next
	}
	finished = true
	return s.restore(ctx), unread[0]
}
