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

// ending is what ends a siblingContext.
type ending struct {
	context.Context
	cancel context.CancelCauseFunc
}

func (s *siblingContext) Done() <-chan struct{} { return s.end().Done() }

func (s *siblingContext) Err() error { return s.current().Err() }

func (s *siblingContext) Value(key any) any { return s.current().Value(key) }

func (s *siblingContext) cancel(cause error) { s.end().cancel(cause) }

// release cancels the context once all siblings have ended. Where something may still work under it, and must not be
// disturbed, it is not called: the context then goes when nobody can see it any more.
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
	e, forget := newEnding(s.Context)
	if !s.ending.CompareAndSwap(nil, e) {
		e.cancel(nil)
		forget()
		return s.ending.Load()
	}
	runtime.AddCleanup(s, func(forget func() bool) { forget() }, forget)
	return e
}

// newEnding returns what ends with parent or before. forget takes it off the parent, where it would otherwise stay as
// long as that lives. It is no cancellation because it happens on a goroutine of the garbage collector, and closing a
// channel there kills a process that made the channel in a test with synthetic time.
func newEnding(parent context.Context) (e *ending, forget func() bool) {
	l := &leash{Context: parent, forget: func() bool { return false }}
	if parent.Done() == nil {
		ctx, cancel := context.WithCancelCause(parent)
		return &ending{ctx, cancel}, l.forget
	}
	ctx, cancel := context.WithCancelCause(l)
	return &ending{ctx, cancel}, l.forget
}

// leash is a context of which a single one is made, that can be taken off it without being cancelled.
type leash struct {
	context.Context
	forget func() bool
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

// AfterFunc is how package context has one context end with another. What the other one keeps, and forget, does not
// refer to the one: whatever was made of that would live as long otherwise.
func (l *leash) AfterFunc(end func()) (stop func() bool) {
	l.end = &end
	here := weak.Make(l.end)
	l.forget = context.AfterFunc(l.Context, func() {
		if end := here.Value(); end != nil {
			(*end)()
		}
	})
	return l.forget
}
