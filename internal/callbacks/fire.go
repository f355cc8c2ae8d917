package callbacks

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/weftgo/weft/internal/safe"
)

// OnStart calls the handlers of ctx at the start of its pending run, and consumes that run: in the returned context it
// is the last started one. Panics of handlers pass. Without handlers ctx is returned unchanged.
func OnStart[T any](ctx context.Context, input T) context.Context {
	ctx, s := begin(ctx)
	return fireStart(ctx, s, input, nil)
}

// OnEnd calls the handlers of ctx at the end of the run that is pending, or else was started last. Panics of handlers
// pass.
func OnEnd[T any](ctx context.Context, output T) context.Context {
	return fireEnd(ctx, FromContext(ctx), output, nil)
}

// OnError is OnEnd for a run that has failed.
func OnError(ctx context.Context, err error) context.Context {
	return fireError(ctx, FromContext(ctx), err, nil)
}

// FireStart is OnStart for orchestrators: the state of ctx is [State.Started] already, which an orchestrator does
// while it makes that context, so that no further one is needed.
//
// It does not panic, and neither do the other Fire functions: a handler that panics is passed over, the others are
// called all the same, and the panics come back as one error (each a *safe.PanicError) beside a context that is always
// good to continue with.
func FireStart[T any](ctx context.Context, input T) (next context.Context, caught error) {
	next = fireStart(ctx, FromContext(ctx), input, &caught)
	return next, caught
}

// FireEnd is OnEnd for orchestrators; see FireStart for panics.
func FireEnd[T any](ctx context.Context, output T) (next context.Context, caught error) {
	next = fireEnd(ctx, FromContext(ctx), output, &caught)
	return next, caught
}

// FireError is OnError for orchestrators; see FireStart for panics.
func FireError(ctx context.Context, err error) (next context.Context, caught error) {
	next = fireError(ctx, FromContext(ctx), err, &caught)
	return next, caught
}

// FireEndCopies is FireEnd for an output that has one reader. Handler i gets copy i of the n copies that split makes;
// split is called only if there is a handler that needs the timing.
func FireEndCopies[T any](
	ctx context.Context, output T, split func(output T, n int) []T,
) (next context.Context, caught error) {
	s := FromContext(ctx)
	var buf buffer
	handlers := s.needing(ctx, TimingOnEnd, buf[:0], &caught)
	if len(handlers) == 0 {
		return ctx, caught
	}
	next = ctx
	for i, copied := range split(output, len(handlers)) {
		next, _ = call(next, handlers[i], Handler.OnEnd, s.info(), CallbackOutput(copied), &caught)
	}
	return s.restore(next), caught
}

func fireStart[T any](ctx context.Context, s *State, input T, caught *error) context.Context {
	var buf buffer
	handlers := s.needing(ctx, TimingOnStart, buf[:0], caught)
	if len(handlers) == 0 {
		return ctx
	}
	return fire(ctx, s, handlers, Handler.OnStart, CallbackInput(input), caught)
}

func fireEnd[T any](ctx context.Context, s *State, output T, caught *error) context.Context {
	var buf buffer
	handlers := s.needing(ctx, TimingOnEnd, buf[:0], caught)
	if len(handlers) == 0 {
		return ctx
	}
	return fire(ctx, s, handlers, Handler.OnEnd, CallbackOutput(output), caught)
}

func fireError(ctx context.Context, s *State, err error, caught *error) context.Context {
	var buf buffer
	handlers := s.needing(ctx, TimingOnError, buf[:0], caught)
	if len(handlers) == 0 {
		return ctx
	}
	return fire(ctx, s, handlers, Handler.OnError, err, caught)
}

// begin starts the pending run of ctx.
func begin(ctx context.Context) (context.Context, *State) {
	s := FromContext(ctx)
	if !s.Active() {
		return ctx, s
	}
	next := s.Started()
	if next == *s {
		return ctx, s
	}
	c := newStateContext(ctx, next)
	return c, &c.state
}

// buffer holds the handlers of one firing on the stack. More than fit go to the heap.
type buffer [8]Handler

// needing appends the handlers that need a timing to buf, in the order in which they are called: as listed for the
// end of a run, reversed for its start.
func (s *State) needing(ctx context.Context, timing CallbackTiming, buf []Handler, caught *error) []Handler {
	if !s.Needs(timing) {
		return buf
	}
	entries, info := s.set.entries, s.info()
	for i := range entries {
		e := &entries[i]
		if timing.isStart() {
			e = &entries[len(entries)-1-i]
		}
		if e.needs(ctx, info, timing, caught) {
			buf = append(buf, e.handler)
		}
	}
	return buf
}

// info is the run that handlers are called for.
func (s *State) info() *RunInfo {
	if s.pending != nil {
		return s.pending
	}
	return s.last
}

// restore makes sure that a context that came back from handlers still has the state s.
func (s *State) restore(ctx context.Context) context.Context {
	if FromContext(ctx) == s {
		return ctx
	}
	return WithState(ctx, *s)
}

// method is a method of Handler, as a function.
type method[V any] func(h Handler, ctx context.Context, info *RunInfo, value V) context.Context

// fire calls one method of all handlers with the same value.
func fire[V any](
	ctx context.Context, s *State, handlers []Handler, m method[V], value V, caught *error,
) context.Context {
	info := s.info()
	for _, h := range handlers {
		ctx, _ = call(ctx, h, m, info, value, caught)
	}
	return s.restore(ctx)
}

// call calls one handler. If it panics the panic passes when caught is nil, else it is added there, ctx is returned
// unchanged and ok is false.
func call[V any](
	ctx context.Context, h Handler, m method[V], info *RunInfo, value V, caught *error,
) (next context.Context, ok bool) {
	next = ctx
	if caught != nil {
		defer catch(caught)
	}
	if changed := m(h, ctx, info, value); changed != nil {
		next = changed
	}
	return next, true
}

// catch adds the panic in flight, if there is one, to *errs. It must be deferred directly.
func catch(errs *error) {
	v := recover()
	if v == nil {
		return
	}
	err := safe.NewPanicError(v, debug.Stack())
	if *errs != nil {
		err = errors.Join(*errs, err)
	}
	*errs = err
}
