package compose

import (
	"context"

	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/schema"
)

// Runnable is a compiled graph. It may be called from any number of goroutines at once.
//
// Invoke runs the nodes on values; the other three run them on streams, so that a node can work on the first chunks
// while the one before it still makes more. A call returns when the nodes have returned: what a stream still brings,
// errors included, is met when it is read.
type Runnable[I, O any] interface {
	// Invoke takes a value and gives a value.
	Invoke(ctx context.Context, input I, opts ...Option) (output O, err error)
	// Stream takes a value and gives a stream, which the caller closes.
	Stream(ctx context.Context, input I, opts ...Option) (output *schema.StreamReader[O], err error)
	// Collect takes a stream and gives a value. It closes the stream.
	Collect(ctx context.Context, input *schema.StreamReader[I], opts ...Option) (output O, err error)
	// Transform takes a stream, which it closes, and gives a stream, which the caller closes.
	Transform(ctx context.Context, input *schema.StreamReader[I],
		opts ...Option,
	) (output *schema.StreamReader[O], err error)
}

type runnable[I, O any] struct{ plan *plan }

func (r *runnable[I, O]) Invoke(ctx context.Context, input I, opts ...Option) (output O, err error) {
	if ctx == nil {
		return output, graphError(errNilContext)
	}
	call := r.plan.newRun(ctx, opts, false)
	call.input = input
	call.whole = call.input
	call.place(ctx)
	call.do()
	v, _, err := call.outcome()
	if err != nil {
		return output, err
	}
	return resultAs[O](v)
}

func resultAs[O any](v any) (O, error) {
	out, err := valueAs[O](v)
	if err != nil {
		err = graphError(err)
	}
	return out, err
}

func (r *runnable[I, O]) Stream(ctx context.Context, input I, opts ...Option) (*schema.StreamReader[O], error) {
	return r.transform(ctx, singleOf(input), input, opts)
}

func (r *runnable[I, O]) Collect(
	ctx context.Context, input *schema.StreamReader[I], opts ...Option,
) (output O, err error) {
	out, err := r.Transform(ctx, input, opts...)
	if err != nil {
		return output, err
	}
	return joinStream(out)
}

func (r *runnable[I, O]) Transform(
	ctx context.Context, input *schema.StreamReader[I], opts ...Option,
) (*schema.StreamReader[O], error) {
	if input == nil {
		return nil, graphErrorf("the input stream is nil")
	}
	return r.transform(ctx, input, nil, opts)
}

// transform is Transform. whole is what the stream has, if that is known.
func (r *runnable[I, O]) transform(
	ctx context.Context, input *schema.StreamReader[I], whole any, opts []Option,
) (*schema.StreamReader[O], error) {
	if ctx == nil {
		input.Close()
		return nil, graphError(errNilContext)
	}
	call := r.plan.newRun(ctx, opts, false)
	call.inputStream, call.whole, call.streaming = input, whole, true
	call.place(ctx)
	call.do()
	_, s, err := call.outcome()
	if err != nil {
		return nil, err
	}
	out, err := streamAs[O](s)
	if err != nil {
		closeStream(s)
		return nil, graphError(err)
	}
	return out, nil
}

// RegisterStreamChunkConcatFunc says how the chunks of a stream of T become one value, where a node or a caller needs
// a value. Built in are strings (joined), numbers, booleans and times (the last), maps (key by key) and the message
// types of package schema. Registering a type again replaces its function. It is safe for concurrent use, and panics if
// fn is nil.
func RegisterStreamChunkConcatFunc[T any](fn func([]T) (T, error)) {
	concat.Register(fn)
}
