package compose

import (
	"context"
	"reflect"

	"github.com/weftgo/weft/schema"
)

type graphAddNodeOpts struct {
	name      string
	key       string
	inputKey  string
	outputKey string
	compile   []GraphCompileOption
	pre, post *stateHandler
}

// GraphAddNodeOpt configures one node of a graph, chain or workflow.
type GraphAddNodeOpt func(o *graphAddNodeOpts)

func newNodeOptions(opts []GraphAddNodeOpt) graphAddNodeOpts {
	var o graphAddNodeOpts
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}

// WithNodeName sets the name that callback handlers see in RunInfo. The default is "".
func WithNodeName(n string) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.name = n }
}

// WithNodeKey replaces the key that a chain gives its nodes. Only chains, their branches and parallels take it.
func WithNodeKey(key string) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.key = key }
}

// WithInputKey makes the node take map[string]any and work on the value under k. A value without the key is an
// error; in a run of streams chunks without the key are dropped.
func WithInputKey(k string) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.inputKey = k }
}

// WithOutputKey makes the node's output map[string]any{k: output}.
func WithOutputKey(k string) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.outputKey = k }
}

// WithGraphCompileOptions gives the options for compiling a graph that is added as a node. A nested graph inherits
// nothing from the graph around it.
func WithGraphCompileOptions(opts ...GraphCompileOption) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.compile = opts }
}

// StatePreHandler changes a node's input with the graph's state at hand. In a run of streams the input is joined for
// it first. It must not call [ProcessState]: the state is locked for it already.
type StatePreHandler[I, S any] func(ctx context.Context, in I, state S) (I, error)

// StatePostHandler changes a node's output with the graph's state at hand. See [StatePreHandler].
type StatePostHandler[O, S any] func(ctx context.Context, out O, state S) (O, error)

// StreamStatePreHandler is [StatePreHandler] on streams; in a run of values the input is a stream of one chunk. The
// state is locked while the handler runs, not while its stream is read.
type StreamStatePreHandler[I, S any] func(
	ctx context.Context, in *schema.StreamReader[I], state S,
) (*schema.StreamReader[I], error)

// StreamStatePostHandler is [StatePostHandler] on streams. See [StreamStatePreHandler].
type StreamStatePostHandler[O, S any] func(
	ctx context.Context, out *schema.StreamReader[O], state S,
) (*schema.StreamReader[O], error)

// WithStatePreHandler runs pre on the node's input before the node. The graph needs a state of exactly type S
// ([WithGenLocalState]) and the node an input of exactly type I.
func WithStatePreHandler[I, S any](pre StatePreHandler[I, S]) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.pre = valueHandler[I, S](pre) }
}

// WithStatePostHandler runs post on the node's output after the node. See [WithStatePreHandler].
func WithStatePostHandler[O, S any](post StatePostHandler[O, S]) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.post = valueHandler[O, S](post) }
}

// WithStreamStatePreHandler is [WithStatePreHandler] for a handler on streams.
func WithStreamStatePreHandler[I, S any](pre StreamStatePreHandler[I, S]) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.pre = streamHandler[I, S](pre) }
}

// WithStreamStatePostHandler is [WithStatePostHandler] for a handler on streams.
func WithStreamStatePostHandler[O, S any](post StreamStatePostHandler[O, S]) GraphAddNodeOpt {
	return func(o *graphAddNodeOpts) { o.post = streamHandler[O, S](post) }
}

// stateHandler is a pre- or post-handler: a function on the value or on the stream, with the types it was made for.
// Exactly one of onValue and onStream is set, nil for a handler that is nil.
type stateHandler struct {
	state    reflect.Type
	value    kind
	onValue  func(ctx context.Context, v, state any) (any, error)
	onStream func(ctx context.Context, s stream, state any) (stream, error)
}

func valueHandler[V, S any, F ~func(context.Context, V, S) (V, error)](f F) *stateHandler {
	if f == nil {
		return nil
	}
	return &stateHandler{
		state: reflect.TypeFor[S](),
		value: kindOf[V]{},
		onValue: func(ctx context.Context, v, state any) (any, error) {
			in, err := valueAs[V](v)
			if err != nil {
				return nil, err
			}
			return boxed(f(ctx, in, stateAs[S](state)))
		},
	}
}

func streamHandler[V, S any, F ~func(context.Context, *schema.StreamReader[V], S) (*schema.StreamReader[V], error)](
	f F,
) *stateHandler {
	if f == nil {
		return nil
	}
	return &stateHandler{
		state: reflect.TypeFor[S](),
		value: kindOf[V]{},
		onStream: func(ctx context.Context, s stream, state any) (stream, error) {
			in, err := streamAs[V](s)
			if err != nil {
				return nil, err
			}
			out, err := f(ctx, in, stateAs[S](state))
			if err == nil && out == nil {
				err = errNilStream
			}
			return opened(out, err)
		},
	}
}

// stateAs is safe: the types of handler and state are compared when the node is added.
func stateAs[S any](state any) S {
	s, _ := state.(S)
	return s
}
