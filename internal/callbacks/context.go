package callbacks

import (
	"context"

	"github.com/weftgo/weft/components"
)

// Key is the key under which a context answers with its *State. An orchestrator with a context type of its own may
// answer it there.
type Key struct{}

// FromContext returns the state of a context, nil if it has none. Code of users may bring a nil ctx.
func FromContext(ctx context.Context) *State {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(Key{}).(*State)
	return s
}

// stateContext is a context with a state: the only allocation that a change of state costs.
type stateContext struct {
	context.Context
	state State
}

func (c *stateContext) Value(key any) any {
	if _, ok := key.(Key); ok {
		return &c.state
	}
	return c.Context.Value(key)
}

// WithState returns a context with the given state.
func WithState(ctx context.Context, s State) context.Context {
	return newStateContext(ctx, s)
}

func newStateContext(ctx context.Context, s State) *stateContext {
	if outer, ok := ctx.(*stateContext); ok {
		ctx = outer.Context // its state would be hidden
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return &stateContext{Context: ctx, state: s}
}

// replace returns ctx with a state derived from its present one.
func replace(ctx context.Context, present *State, next State) context.Context {
	if present == nil {
		present = &State{}
	}
	if next == *present {
		return ctx
	}
	return WithState(ctx, next)
}

// Init is [State.Init] on the state of ctx.
func Init(ctx context.Context, info *RunInfo, handlers ...Handler) context.Context {
	s := FromContext(ctx)
	return replace(ctx, s, s.Init(info, handlers...))
}

// Append is [State.Append] on the state of ctx.
func Append(ctx context.Context, info *RunInfo, handlers ...Handler) context.Context {
	s := FromContext(ctx)
	return replace(ctx, s, s.Append(info, handlers...))
}

// Reuse is [State.WithInfo] on the state of ctx.
func Reuse(ctx context.Context, info *RunInfo) context.Context {
	s := FromContext(ctx)
	return replace(ctx, s, s.WithInfo(info))
}

// EnsureRunInfo makes sure that the next start on ctx has a RunInfo: one that is pending already stays, else a nameless
// one of the given type and component is set, for the inherited handlers or, if there are none, the global ones.
func EnsureRunInfo(ctx context.Context, typ string, component components.Component) context.Context {
	next, changed := FromContext(ctx).ensure(typ, component)
	if !changed {
		return ctx
	}
	return WithState(ctx, next)
}
