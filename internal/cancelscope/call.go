package cancelscope

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// callPhase is the state of a call that a goroutine waits for.
//
//	from       to         when
//	inFlight   emitting   its stream is about to be emitted: if the call is stopped, the stream ends and it returns soon
//	inFlight   committed  its result is about to be emitted: a stop comes too late for it
//	emitting   committed  as before
//	any of these three    to returned: the code of the call has come back
//	inFlight   abandoned  the call was stopped and has not returned: nothing waits for it any more
//	emitting   abandoned  as before, after the grace
//
// Only the code of the call and the one goroutine that waits for it make transitions.
type callPhase int

const (
	inFlight callPhase = iota
	emitting
	committed
	returned
	abandoned
)

func (p callPhase) over() bool { return p == returned || p == abandoned }

// mayBecome is the table.
func (p callPhase) mayBecome(to callPhase) bool {
	switch to {
	case emitting:
		return p == inFlight
	case committed, abandoned:
		return p == inFlight || p == emitting
	case returned:
		return !p.over()
	}
	return false
}

// CallPolicy says how calls are stopped. It is shared by many calls and not changed.
type CallPolicy struct {
	// Grace is the time for which a stopped call is waited for that stops by itself, or whose stream is being emitted.
	Grace time.Duration
	// Cut is the error that ends the streams of a stopped call.
	Cut error
	// Cause makes the cause with which the context of a stopped call ends.
	Cause func(Info) error
}

// A Call is user code that runs in a part which may be stopped. It is the context of that code. Its methods are safe for
// concurrent use; Wait belongs to the goroutine that started the code.
type Call struct {
	context.Context
	view   *View
	policy *CallPolicy
	life   context.Context // what the context was made of
	cancel context.CancelCauseFunc
	// stopsItself: a part inside obeys the same requests.
	stopsItself atomic.Bool

	mu      sync.Mutex // guards the fields below; taken before the lock of a Control
	changed sync.Cond
	phase   callPhase
	cuts    []func(error)  // cut the call's streams off
	first   [1]func(error) // room for the only one of most calls
}

type callKey struct{}

// CallFrom returns the innermost call that ctx belongs to, nil outside of one.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Value returns the call itself for its own key.
func (c *Call) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// Open makes the context of the call, which ends when the part of view is to stop at once. Release must be called.
func (c *Call) Open(ctx context.Context, view *View, policy *CallPolicy) {
	c.view, c.policy, c.life = view, policy, ctx
	c.changed.L = &c.mu
	c.Context, c.cancel = context.WithCancelCause(ctx)
	view.OnNow(c)
}

// Outside returns the context that the call was opened with.
func (c *Call) Outside() context.Context { return c.life }

// Release ends the context of the call.
func (c *Call) Release() {
	c.Keep()
	c.endContext()
}

// Keep has the context of the call not end any more when the part is to stop. Release still ends it.
func (c *Call) Keep() { c.view.Forget(c) }

// StopNow ends the wait for the call, cuts its streams off, and then ends its context, with the cause: readers of a
// stream get the cancel as their error, and not what a model makes of the end of its context.
func (c *Call) StopNow() {
	c.mu.Lock()
	cuts := c.cuts
	c.changed.Broadcast()
	c.mu.Unlock()
	for _, cut := range cuts {
		cut(c.policy.Cut)
	}
	c.endContext()
}

// endContext ends the call's context; the context of a call that was stopped says so.
func (c *Call) endContext() {
	if !c.Stopped() {
		c.cancel(nil)
		return
	}
	info, _, _ := c.view.control.State()
	c.cancel(c.policy.Cause(info))
}

// Stopped reports whether the call is to stop. Of nil it is false.
func (c *Call) Stopped() bool { return c != nil && c.view.Now() }

// OnStop has a stream of the call cut off when the call is stopped.
func (c *Call) OnStop(cut func(error)) {
	c.mu.Lock()
	stopped := c.view.Now()
	if !stopped {
		if c.cuts == nil {
			c.cuts = c.first[:0]
		}
		c.cuts = append(c.cuts, cut)
	}
	c.mu.Unlock()
	if stopped {
		cut(c.policy.Cut)
	}
}

// StopsItself says whether a part inside obeys a stop, so that the call will return soon.
func (c *Call) StopsItself(does bool) { c.stopsItself.Store(does) }

// Commit decides that the call counts, because its result is about to be emitted. It reports false if the call is over.
// Of nil it is true.
func (c *Call) Commit() bool { return c.decide(committed) }

// Emit says that the stream of the call is about to be emitted: the call counts if that comes to its end. It reports
// false if the call is over. Of nil it is true.
func (c *Call) Emit() bool { return c.decide(emitting) }

// Return says that the code of the call has come back. It reports false if no goroutine waits for it.
func (c *Call) Return() bool { return c.decide(returned) }

func (c *Call) decide(to callPhase) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase.over() {
		return false
	}
	if c.phase.mayBecome(to) { // one that has committed stays so when it emits
		c.become(to)
	}
	return true
}

// become makes a transition. c.mu is locked.
func (c *Call) become(to callPhase) {
	if !c.phase.mayBecome(to) {
		panic(fmt.Sprintf("cancelscope: a call cannot go from phase %d to %d", c.phase, to))
	}
	c.phase = to
	c.changed.Broadcast()
}

// Abandoned reports whether no goroutine waits for the call any more. Of nil it is false.
func (c *Call) Abandoned() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == abandoned
}

// Committed reports whether the call counts although it may have been stopped meanwhile. Of nil it is false.
func (c *Call) Committed() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == committed
}

// Wait waits for Return, or until the call is stopped and abandoned, and reports whether it has returned.
func (c *Call) Wait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.phase.over() && (c.phase == committed || !c.view.Now()) {
		c.changed.Wait()
	}
	if !c.phase.over() && (c.phase == emitting || c.obeysInside()) {
		c.waitGrace()
	}
	if !c.phase.over() {
		c.become(abandoned)
	}
	return c.phase == returned
}

// waitGrace waits for a stopped call to return, for as long as the grace lasts. c.mu is locked.
func (c *Call) waitGrace() {
	over := false // guarded by c.mu
	timer := time.AfterFunc(c.policy.Grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		over = true
		c.changed.Broadcast()
	})
	defer timer.Stop()
	for !c.phase.over() && (c.phase == committed || !over) {
		c.changed.Wait()
	}
}

// obeysInside reports whether there is a part inside that is to stop, too.
func (c *Call) obeysInside() bool {
	info, _, _ := c.view.control.State()
	return info.Recursive && c.stopsItself.Load()
}
