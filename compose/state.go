package compose

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// GenLocalState makes the state of one run of a graph. It is called once per fresh run, before anything else of the
// run; a resumed run gets the saved state instead.
type GenLocalState[S any] func(ctx context.Context) (state S)

type newGraphOptions struct {
	genState  func(ctx context.Context) any
	stateType reflect.Type
}

// NewGraphOption configures a new graph, chain or workflow.
type NewGraphOption func(ngo *newGraphOptions)

// WithGenLocalState gives every run of the graph a state of its own, made by gls. Nodes reach it with
// [ProcessState], handlers get it as an argument. For runs that may be interrupted the type must be serializable:
// see schema.RegisterName.
func WithGenLocalState[S any](gls GenLocalState[S]) NewGraphOption {
	return func(o *newGraphOptions) {
		o.stateType = reflect.TypeFor[S]()
		o.genState = nil
		if gls != nil {
			o.genState = func(ctx context.Context) any { return gls(ctx) }
		}
	}
}

// stateScope is the state of one run, linked to the states of the runs around it.
type stateScope struct {
	mu    sync.Mutex
	state any // set before anything else can see the scope; what it refers to is under mu
	outer *stateScope
}

// with runs f on the locked state.
func (s *stateScope) with(f func(state any) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.state)
}

type scopeKey struct{}

// scopeFrom returns the state of the innermost run around, nil outside a run. Code of users may bring a nil ctx.
func scopeFrom(ctx context.Context) *stateScope {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*stateScope)
	return s
}

// ProcessState runs handler on the graph's state, locked against every other use of it. The states of the running
// graphs are searched from the innermost outwards for the first that is an S; S may be an interface. The lock is not
// reentrant: handler must not call ProcessState for the same state. It is an error when ctx has no state or none of
// type S.
func ProcessState[S any](ctx context.Context, handler func(context.Context, S) error) error {
	innermost := scopeFrom(ctx)
	if innermost == nil {
		return errors.New("get state from context fail: have not set state")
	}
	for scope := innermost; scope != nil; scope = scope.outer {
		if fits, err := processIn(ctx, scope, handler); fits {
			return err
		}
	}
	return fmt.Errorf("get state from context fail: cannot find state with type: %v in states chain, current state type: %T",
		reflect.TypeFor[S](), innermost.state)
}

// InternalSameState reports whether [ProcessState] finds the same S, or none, in both contexts. It is for package adk.
func InternalSameState[S any](a, b context.Context) bool { return scopeWith[S](a) == scopeWith[S](b) }

// scopeWith returns the innermost scope of ctx whose state is an S, nil if there is none.
func scopeWith[S any](ctx context.Context) *stateScope {
	for scope := scopeFrom(ctx); scope != nil; scope = scope.outer {
		if _, fits := scope.state.(S); fits {
			return scope
		}
	}
	return nil
}

// processIn runs handler on the state of one graph, if that is an S. A state of another type is passed by without its
// lock, which the caller may hold.
func processIn[S any](
	ctx context.Context, scope *stateScope, handler func(context.Context, S) error,
) (fits bool, err error) {
	state, fits := scope.state.(S)
	if !fits {
		return false, nil
	}
	scope.mu.Lock()
	defer scope.mu.Unlock()
	return true, handler(ctx, state)
}
