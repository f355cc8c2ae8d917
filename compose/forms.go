package compose

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// action is the body of a node: the two forms a run needs, made from whatever the user supplied. A run of values calls
// Invoke only, a run of streams Transform only. Both report to the callback handlers of ctx, also that the user's
// function panicked. Without handlers a panic is left to the task. opts are the call options for this node (nil, or
// values of the option type).
type action interface {
	Invoke(ctx context.Context, in any, opts []any) (any, error)
	Transform(ctx context.Context, in stream, opts []any) (stream, error)
	// OptionType is the type of call option that the body takes, nil for none.
	OptionType() reflect.Type
}

// forms is the action of a typed function in up to four forms: value or stream in, value or stream out. Missing
// forms are derived from those that are there.
type forms[I, O, P any] struct {
	invoke    Invoke[I, O, P]
	stream    Stream[I, O, P]
	collect   Collect[I, O, P]
	transform Transform[I, O, P]
	// silent: the function reports to the callback handlers itself.
	silent bool
	// joinsStream, if not nil, says whether invoke joins what are streams to callback handlers.
	joinsStream func(ctx context.Context) bool
	// noOptions: P stands for nothing, the function takes no options.
	noOptions bool
}

func (f *forms[I, O, P]) OptionType() reflect.Type {
	if f.noOptions {
		return nil
	}
	return reflect.TypeFor[P]()
}

// Invoke prefers the form with the least conversion: value to value, then a stream to join at the end, then a
// stream to make at the start, then both.
func (f *forms[I, O, P]) Invoke(ctx context.Context, in any, rawOpts []any) (any, error) {
	input, err := valueAs[I](in)
	if err != nil {
		return nil, err
	}
	opts, err := typedOptions[P](rawOpts)
	if err != nil {
		return nil, err
	}
	if f.invoke == nil {
		return boxed(f.derivedInvoke(ctx, input, opts))
	}
	if f.reports(ctx) {
		return boxed(f.reportInvoke(ctx, input, opts))
	}
	return boxed(f.invoke(ctx, input, opts...))
}

// derivedInvoke gets a value from the other forms.
func (f *forms[I, O, P]) derivedInvoke(ctx context.Context, input I, opts []P) (out O, err error) {
	switch {
	case f.stream != nil:
		return joined(f.callStream(ctx, input, opts))
	case f.collect != nil:
		return f.callCollect(ctx, singleOf(input), opts)
	case f.transform != nil:
		return joined(f.callTransform(ctx, singleOf(input), opts))
	}
	return out, errNoForm
}

// Transform is Invoke for a run of streams: stream to stream, then an input to join, then an output to make a
// stream of, then both.
func (f *forms[I, O, P]) Transform(ctx context.Context, in stream, rawOpts []any) (stream, error) {
	input, err := streamAs[I](in)
	if err != nil {
		return nil, err
	}
	opts, err := typedOptions[P](rawOpts)
	if err != nil {
		input.Close()
		return nil, err
	}
	switch {
	case f.transform != nil:
		return opened(f.callTransform(ctx, input, opts))
	case f.stream != nil:
		v, err := joinStream(input)
		if err != nil {
			return nil, err
		}
		return opened(f.callStream(ctx, v, opts))
	case f.collect != nil:
		return singled(f.callCollect(ctx, input, opts))
	case f.invoke != nil:
		v, err := joinStream(input)
		if err != nil {
			return nil, err
		}
		return singled(f.callInvoke(ctx, v, opts))
	}
	input.Close()
	return nil, errNoForm
}

var (
	errNoForm    = errors.New("the function of this node is nil")
	errNilStream = errors.New("the function returned a nil stream without an error")
)

func boxed[O any](v O, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func joined[O any](s *schema.StreamReader[O], err error) (O, error) {
	if err != nil {
		var zero O
		return zero, err
	}
	return joinStream(s)
}

func opened[O any](s *schema.StreamReader[O], err error) (stream, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func singled[O any](v O, err error) (stream, error) {
	if err != nil {
		return nil, err
	}
	return singleOf(v), nil
}

func typedOptions[P any](raw []any) ([]P, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	opts := make([]P, len(raw))
	for i, o := range raw {
		p, ok := o.(P)
		if !ok {
			return nil, fmt.Errorf("unexpected component option type, expected:%v, actual:%v",
				reflect.TypeFor[P](), reflect.TypeOf(o))
		}
		opts[i] = p
	}
	return opts, nil
}

// The four call functions run the user's own form between its callbacks: what handlers see is what that very
// function takes and returns. A handler that panics fails the node.

func (f *forms[I, O, P]) callInvoke(ctx context.Context, in I, opts []P) (out O, err error) {
	if f.reports(ctx) {
		return f.reportInvoke(ctx, in, opts)
	}
	defer safe.Recover(&err)
	return f.invoke(ctx, in, opts...)
}

// reportInvoke is left out of line, so that calls without handlers have a small stack.
//
//go:noinline
func (f *forms[I, O, P]) reportInvoke(ctx context.Context, in I, opts []P) (O, error) {
	call := func(ctx context.Context) (O, error) { return f.invoke(ctx, in, opts...) }
	if f.joinsStream != nil && f.joinsStream(ctx) {
		return reportJoined(ctx, in, call)
	}
	return reportValue(ctx, in, call)
}

func (f *forms[I, O, P]) callStream(ctx context.Context, in I, opts []P) (out *schema.StreamReader[O], err error) {
	if f.reports(ctx) {
		return reportStream(ctx, in,
			func(ctx context.Context) (*schema.StreamReader[O], error) { return f.stream(ctx, in, opts...) })
	}
	defer safe.Recover(&err)
	return notNil(f.stream(ctx, in, opts...))
}

func (f *forms[I, O, P]) callCollect(ctx context.Context, in *schema.StreamReader[I], opts []P) (out O, err error) {
	if f.reports(ctx) {
		if ctx, in, err = reportStartStream(ctx, in); err != nil {
			in.Close()
			return out, err
		}
		out, err = guarded(ctx, func(ctx context.Context) (O, error) { return f.collect(ctx, in, opts...) })
		return reportEnd(ctx, out, err)
	}
	defer safe.Recover(&err)
	return f.collect(ctx, in, opts...)
}

func (f *forms[I, O, P]) callTransform(
	ctx context.Context, in *schema.StreamReader[I], opts []P,
) (out *schema.StreamReader[O], err error) {
	if f.reports(ctx) {
		if ctx, in, err = reportStartStream(ctx, in); err != nil {
			in.Close()
			return nil, err
		}
		out, err = guarded(ctx, func(ctx context.Context) (*schema.StreamReader[O], error) {
			return notNil(f.transform(ctx, in, opts...))
		})
		return reportEndStream(ctx, out, err)
	}
	defer safe.Recover(&err)
	return notNil(f.transform(ctx, in, opts...))
}

func (f *forms[I, O, P]) reports(ctx context.Context) bool {
	return !f.silent && callbacks.FromContext(ctx).Active()
}

// guarded turns a panic into an error at once, so that the handlers see it.
func guarded[O any](ctx context.Context, call func(ctx context.Context) (O, error)) (out O, err error) {
	defer safe.Recover(&err)
	return call(ctx)
}

func notNil[O any](s *schema.StreamReader[O], err error) (*schema.StreamReader[O], error) {
	if err == nil && s == nil {
		err = errNilStream
	}
	return s, err
}

// reportValue and reportStream put a function that takes a value between its callbacks.
func reportValue[I, O any](ctx context.Context, in I, call func(ctx context.Context) (O, error)) (out O, err error) {
	if ctx, err = callbacks.FireStart(ctx, in); err != nil {
		return out, err
	}
	out, err = guarded(ctx, call)
	return reportEnd(ctx, out, err)
}

// reportJoined shows handlers the value at the end as a stream of one chunk.
func reportJoined[I, O any](ctx context.Context, in I, call func(ctx context.Context) (O, error)) (out O, err error) {
	s, err := reportStream(ctx, in, func(ctx context.Context) (*schema.StreamReader[O], error) {
		if out, err = call(ctx); err != nil {
			return nil, err
		}
		return singleOf(out), nil
	})
	if err == nil {
		s.Close()
	}
	return out, err
}

func reportStream[I, O any](
	ctx context.Context, in I, call func(ctx context.Context) (*schema.StreamReader[O], error),
) (out *schema.StreamReader[O], err error) {
	if ctx, err = callbacks.FireStart(ctx, in); err != nil {
		return nil, err
	}
	out, err = guarded(ctx, func(ctx context.Context) (*schema.StreamReader[O], error) { return notNil(call(ctx)) })
	return reportEndStream(ctx, out, err)
}

func reportStartStream[I any](
	ctx context.Context, in *schema.StreamReader[I],
) (context.Context, *schema.StreamReader[I], error) {
	return callbacks.FireStartStream(ctx, in, callbacks.Copies[I], callbacks.InputView[I])
}

// reportEnd calls the handlers with how the function ended.
func reportEnd[O any](ctx context.Context, out O, err error) (O, error) {
	if err != nil {
		return out, reportError(ctx, err)
	}
	_, err = callbacks.FireEnd(ctx, out)
	return out, err
}

func reportEndStream[O any](
	ctx context.Context, out *schema.StreamReader[O], err error,
) (*schema.StreamReader[O], error) {
	if err != nil {
		return nil, reportError(ctx, err)
	}
	_, out, err = callbacks.FireEndStream(ctx, out, callbacks.Copies[O], callbacks.OutputView[O])
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// reportError calls the handlers with the error of the function. What failed stays the error; a panic of a handler is
// joined to it.
func reportError(ctx context.Context, err error) error {
	if _, panicked := callbacks.FireError(ctx, err); panicked != nil {
		return errors.Join(err, panicked)
	}
	return err
}
