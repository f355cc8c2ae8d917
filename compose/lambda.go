package compose

import (
	"context"
	"errors"

	"github.com/weftgo/weft/schema"
)

// Invoke is a node function from value to value that takes call options.
type Invoke[I, O, TOption any] func(ctx context.Context, input I, opts ...TOption) (output O, err error)

// Stream is a node function from value to stream that takes call options. The caller closes the stream.
type Stream[I, O, TOption any] func(
	ctx context.Context, input I, opts ...TOption,
) (output *schema.StreamReader[O], err error)

// Collect is a node function from stream to value that takes call options. The function owns the input stream and
// closes it.
type Collect[I, O, TOption any] func(
	ctx context.Context, input *schema.StreamReader[I], opts ...TOption,
) (output O, err error)

// Transform is a node function from stream to stream that takes call options. The function owns the input stream,
// the caller the output stream.
type Transform[I, O, TOption any] func(
	ctx context.Context, input *schema.StreamReader[I], opts ...TOption,
) (output *schema.StreamReader[O], err error)

// InvokeWOOpt is [Invoke] without options.
type InvokeWOOpt[I, O any] func(ctx context.Context, input I) (output O, err error)

// StreamWOOpt is [Stream] without options.
type StreamWOOpt[I, O any] func(ctx context.Context, input I) (output *schema.StreamReader[O], err error)

// CollectWOOpt is [Collect] without options.
type CollectWOOpt[I, O any] func(ctx context.Context, input *schema.StreamReader[I]) (output O, err error)

// TransformWOOpts is [Transform] without options.
type TransformWOOpts[I, O any] func(
	ctx context.Context, input *schema.StreamReader[I],
) (output *schema.StreamReader[O], err error)

// Lambda is a plain function as a node. It holds no state of any graph: one Lambda may be used in many nodes.
type Lambda struct {
	in, out kind
	typ     string
	// newAction makes the body for a node; silent as in forms.
	newAction func(silent bool) action
	silent    bool
	// problem says what is wrong with the functions given, and is reported when the lambda is added to a graph.
	problem error
}

type lambdaOpts struct {
	callbacksEnabled bool
	typ              string
}

// LambdaOpt configures a [Lambda].
type LambdaOpt func(o *lambdaOpts)

// WithLambdaCallbackEnable(true) says that the function reports to the callback handlers itself; the graph then only
// prepares the context for it. The default is false: the graph reports.
func WithLambdaCallbackEnable(y bool) LambdaOpt {
	return func(o *lambdaOpts) { o.callbacksEnabled = y }
}

// WithLambdaType sets the Type that callback handlers see in RunInfo. The default is "".
func WithLambdaType(t string) LambdaOpt {
	return func(o *lambdaOpts) { o.typ = t }
}

func newLambda[I, O, P any](f forms[I, O, P], opts []LambdaOpt) *Lambda {
	var conf lambdaOpts
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	l := &Lambda{
		in:     kindOf[I]{},
		out:    kindOf[O]{},
		typ:    conf.typ,
		silent: conf.callbacksEnabled,
		newAction: func(silent bool) action {
			made := f
			made.silent = silent
			return &made
		},
	}
	if f.invoke == nil && f.stream == nil && f.collect == nil && f.transform == nil {
		l.problem = errors.New("needs to have at least one of four lambda types: invoke/stream/collect/transform, got none")
	}
	return l
}

// AnyLambda makes a lambda of up to four functions that do the same in different forms; the graph picks the one that
// needs the least conversion and derives the missing ones. All four nil is an error.
func AnyLambda[I, O, TOption any](
	i Invoke[I, O, TOption],
	s Stream[I, O, TOption],
	c Collect[I, O, TOption],
	t Transform[I, O, TOption],
	opts ...LambdaOpt,
) (*Lambda, error) {
	l := newLambda(forms[I, O, TOption]{invoke: i, stream: s, collect: c, transform: t}, opts)
	if l.problem != nil {
		return nil, l.problem
	}
	return l, nil
}

// noOption is the option type of lambdas that take none.
type noOption struct{}

// InvokableLambda makes a lambda of a function from value to value.
func InvokableLambda[I, O any](i InvokeWOOpt[I, O], opts ...LambdaOpt) *Lambda {
	f := forms[I, O, noOption]{noOptions: true}
	if i != nil {
		f.invoke = func(ctx context.Context, in I, _ ...noOption) (O, error) { return i(ctx, in) }
	}
	return newLambda(f, opts)
}

// InvokableLambdaWithOption is [InvokableLambda] for a function with call options.
func InvokableLambdaWithOption[I, O, TOption any](i Invoke[I, O, TOption], opts ...LambdaOpt) *Lambda {
	return newLambda(forms[I, O, TOption]{invoke: i}, opts)
}

// StreamableLambda makes a lambda of a function from value to stream.
func StreamableLambda[I, O any](s StreamWOOpt[I, O], opts ...LambdaOpt) *Lambda {
	f := forms[I, O, noOption]{noOptions: true}
	if s != nil {
		f.stream = func(ctx context.Context, in I, _ ...noOption) (*schema.StreamReader[O], error) { return s(ctx, in) }
	}
	return newLambda(f, opts)
}

// StreamableLambdaWithOption is [StreamableLambda] for a function with call options.
func StreamableLambdaWithOption[I, O, TOption any](s Stream[I, O, TOption], opts ...LambdaOpt) *Lambda {
	return newLambda(forms[I, O, TOption]{stream: s}, opts)
}

// CollectableLambda makes a lambda of a function from stream to value.
func CollectableLambda[I, O any](c CollectWOOpt[I, O], opts ...LambdaOpt) *Lambda {
	f := forms[I, O, noOption]{noOptions: true}
	if c != nil {
		f.collect = func(ctx context.Context, in *schema.StreamReader[I], _ ...noOption) (O, error) { return c(ctx, in) }
	}
	return newLambda(f, opts)
}

// CollectableLambdaWithOption is [CollectableLambda] for a function with call options.
func CollectableLambdaWithOption[I, O, TOption any](c Collect[I, O, TOption], opts ...LambdaOpt) *Lambda {
	return newLambda(forms[I, O, TOption]{collect: c}, opts)
}

// TransformableLambda makes a lambda of a function from stream to stream.
func TransformableLambda[I, O any](t TransformWOOpts[I, O], opts ...LambdaOpt) *Lambda {
	f := forms[I, O, noOption]{noOptions: true}
	if t != nil {
		f.transform = func(ctx context.Context, in *schema.StreamReader[I], _ ...noOption) (*schema.StreamReader[O], error) {
			return t(ctx, in)
		}
	}
	return newLambda(f, opts)
}

// TransformableLambdaWithOption is [TransformableLambda] for a function with call options.
func TransformableLambdaWithOption[I, O, TOption any](t Transform[I, O, TOption], opts ...LambdaOpt) *Lambda {
	return newLambda(forms[I, O, TOption]{transform: t}, opts)
}

// ToList makes a lambda that puts its input into a slice of one; in a run of streams each chunk becomes such a slice.
func ToList[I any](opts ...LambdaOpt) *Lambda {
	wrap := func(in I) ([]I, error) { return []I{in}, nil }
	return newLambda(forms[I, []I, noOption]{
		noOptions: true,
		invoke:    func(_ context.Context, in I, _ ...noOption) ([]I, error) { return wrap(in) },
		transform: func(_ context.Context, in *schema.StreamReader[I], _ ...noOption) (*schema.StreamReader[[]I], error) {
			return schema.StreamReaderWithConvert(in, wrap), nil
		},
	}, opts)
}

// MessageParser makes a lambda that parses a message with p. Its type for callback handlers is "MessageParse" unless
// an option says otherwise.
func MessageParser[T any](p schema.MessageParser[T], opts ...LambdaOpt) *Lambda {
	opts = append([]LambdaOpt{WithLambdaType("MessageParse")}, opts...)
	if p == nil {
		return InvokableLambda[*schema.Message, T](nil, opts...)
	}
	return InvokableLambda(p.Parse, opts...)
}
