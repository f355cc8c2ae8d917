package compose

import (
	"context"
	"runtime"
	"sync/atomic"
	"weak"
)

// siblingContext is the context of things that run at the same time. When one of them fails it is cancelled, so that
// the others do not work for nothing. It costs nothing until one of them asks when it ends.
type siblingContext struct {
	context.Context // of what they run in
	ending          atomic.Pointer[ending]
}

// ending ends a siblingContext.
type ending struct {
	context.Context
	cancel context.CancelCauseFunc
}

func (s *siblingContext) Done() <-chan struct{} { return s.end().Done() }

func (s *siblingContext) Err() error { return s.current().Err() }

func (s *siblingContext) Value(key any) any { return s.current().Value(key) }

func (s *siblingContext) cancel(cause error) { s.end().cancel(cause) }

// release cancels the context once all siblings have ended. Where something may still work under it, and must not be
// disturbed, it is not called: the context then goes when it is unreachable.
func (s *siblingContext) release(cause error) {
	if e := s.ending.Load(); e != nil {
		e.cancel(cause)
	}
}

func (s *siblingContext) current() context.Context {
	if e := s.ending.Load(); e != nil {
		return e
	}
	return s.Context
}

func (s *siblingContext) end() *ending {
	if e := s.ending.Load(); e != nil {
		return e
	}
	e, place := newEnding(s.Context)
	if !s.ending.CompareAndSwap(nil, e) {
		e.cancel(nil)
		place.leave()
		return s.ending.Load()
	}
	if place != nil {
		runtime.AddCleanup(s, leaveIfLeft, weak.Make(place))
	}
	return e
}

// newEnding returns what ends with parent or before, and its place at the parent, which it has to leave because the
// parent would otherwise keep it as long as that lives; nil if it has none. Leaving is no cancellation because it
// happens on a goroutine of the garbage collector, and closing a channel there kills a process that made the channel in
// a test with synthetic time.
func newEnding(parent context.Context) (*ending, *place) {
	if parent.Done() == nil {
		ctx, cancel := context.WithCancelCause(parent)
		return &ending{ctx, cancel}, nil
	}
	l := &leash{Context: parent}
	ctx, cancel := context.WithCancelCause(l)
	return &ending{ctx, cancel}, l.place
}

// leash is a context of which a single one is made, that can be taken off it without being cancelled.
type leash struct {
	context.Context
	place *place
	// end ends the one that was made, which refers to the leash.
	end *func()
}

// neverDone keeps package context from looking through a leash.
var neverDone = make(chan struct{})

func (l *leash) Done() <-chan struct{} {
	if l.Err() != nil {
		return l.Context.Done()
	}
	return neverDone
}

// AfterFunc is called by package context to end one context with another.
func (l *leash) AfterFunc(end func()) (stop func() bool) {
	l.end = &end
	l.place = &place{end: weak.Make(l.end)}
	l.place.stop = context.AfterFunc(ender(l.Context), l.place.fire)
	return l.place.stop
}

// place holds what a parent keeps of a context that ends with it. Nothing it refers to leads to that context, or to the
// run that works under it: a parent that lives for days would keep them as long. For the same reason the cleanup that
// leaves a place has no more than a weak pointer to it; it is the parent that keeps the place.
type place struct {
	end  weak.Pointer[func()]
	stop func() bool
}

func (p *place) fire() {
	if end := p.end.Value(); end != nil {
		(*end)()
	}
}

func (p *place) leave() {
	if p != nil {
		p.stop()
	}
}

// leaveIfLeft leaves the place of an unreachable context, if the parent still keeps it.
func leaveIfLeft(kept weak.Pointer[place]) { kept.Value().leave() }

// ender returns the context of package context that ends ctx, without what was put around that: the run, its nodes and
// its calls. It is ctx itself if that ends in a way of its own.
func ender(ctx context.Context) context.Context {
	p := &probe{Context: ctx}
	_ = context.Cause(p) // asks for it
	if found, ok := p.found.(context.Context); ok && found.Done() == ctx.Done() {
		return found
	}
	return ctx
}

// probe is a context that notes what was found for the last key that it was asked for.
type probe struct {
	context.Context
	found any
}

func (p *probe) Err() error { return context.Canceled }

func (p *probe) Value(key any) any {
	p.found = p.Context.Value(key)
	return p.found
}
