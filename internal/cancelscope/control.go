// Package cancelscope is the state of a request to stop something that runs: how it shall stop, who is meant, and what
// came of it.
//
// Package adk stops the runs of agents with it.
// It must never start a goroutine, nor call back with its lock held.
package cancelscope

import (
	"slices"
	"sync"
	"time"
)

// A Mode says where to stop: at one of the safe points whose bits are set, or, without bits, at once.
type Mode int

// A Request asks a run to stop.
type Request struct {
	Mode Mode
	// Recursive means what runs inside the run, too.
	Recursive bool
	// Timeout is the time to wait for a safe point before the run is stopped at once. Not positive: without limit.
	Timeout time.Duration
	// Accepted, if not nil, is closed if the request is accepted, before anything stops because of it.
	Accepted chan<- struct{}
}

// An Outcome is what came of the requests. It belongs to the control.
//
//	from     to       when
//	Pending  Stopped  the run can stop, and was asked to
//	Pending  Ended    the run can stop, and was not asked to; or it has ended
//
// What is asked for later has no effect.
type Outcome int

// The outcomes.
const (
	Pending Outcome = iota
	// Stopped: the run stopped because of them.
	Stopped
	// Ended: it ended before they took effect.
	Ended
)

// Info describes the merged requests.
type Info struct {
	Mode      Mode
	Recursive bool
	Immediate bool
	// Escalated: the run was to stop at a safe point first; TimedOut: because it took too long.
	Escalated, TimedOut bool
}

// A Control belongs to one run. The zero value is ready. It is safe for concurrent use.
type Control struct {
	mu        sync.Mutex // guards all fields below
	used      bool
	requested bool
	info      Info
	deadline  time.Time
	timer     *time.Timer
	outcome   Outcome
	settled   bool
	done      chan struct{} // made when a goroutine waits
	watchers  []watcher
	views     [reaches]View
}

// A Stopper is called when it is to stop at once. StopNow must be quick.
type Stopper interface{ StopNow() }

// watcher is a stopper with what it obeys.
type watcher struct {
	Stopper
	reach reach
}

// Use claims the control for a run. It reports false if another has.
func (c *Control) Use() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.used
	c.used = true
	return first
}

// Ask merges a request. It reports false if the outcome stands already.
func (c *Control) Ask(r Request) bool {
	c.mu.Lock()
	if c.outcome != Pending {
		c.mu.Unlock()
		return false
	}
	if r.Accepted != nil {
		close(r.Accepted)
	}
	first := !c.requested
	c.requested = true
	c.info.Recursive = c.info.Recursive || r.Recursive
	switch {
	case r.Mode == 0:
		c.info.Escalated = c.info.Escalated || !first && !c.info.Immediate
		if !c.info.TimedOut {
			c.info.Mode = 0
		}
		c.info.Immediate = true
	case !c.info.Immediate:
		c.info.Mode |= r.Mode
		c.limit(r.Timeout)
	}
	due := c.due()
	c.mu.Unlock()
	stop(due)
	return true
}

// limit sets the timer to the earliest deadline, with mu locked.
func (c *Control) limit(timeout time.Duration) {
	if timeout <= 0 {
		return
	}
	deadline := time.Now().Add(timeout)
	if c.timer != nil && !deadline.Before(c.deadline) {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.deadline = deadline
	c.timer = time.AfterFunc(timeout, c.expire)
}

func (c *Control) expire() {
	c.mu.Lock()
	if c.outcome != Pending || c.info.Immediate {
		c.mu.Unlock()
		return
	}
	c.info.Immediate, c.info.Escalated, c.info.TimedOut = true, true, true
	due := c.due()
	c.mu.Unlock()
	stop(due)
}

// due takes the stoppers that are to stop now, with mu locked.
func (c *Control) due() (due []watcher) {
	if !c.info.Immediate {
		return nil
	}
	c.watchers = slices.DeleteFunc(c.watchers, func(w watcher) bool {
		now := w.reach.obeys(c.info)
		if now {
			due = append(due, w)
		}
		return now
	})
	return due
}

// stop begins with the innermost: what runs inside something began after it.
func stop(due []watcher) {
	for _, w := range slices.Backward(due) {
		w.StopNow()
	}
}

// Decide fixes the outcome, if none is fixed yet, for a run that can stop now: Stopped if it was asked to. It returns
// what was asked for, which further requests do not change, and whether the run has stopped because of it.
func (c *Control) Decide() (info Info, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcome == Pending {
		o := Ended
		if c.requested {
			o = Stopped
		}
		c.fix(o)
	}
	return c.info, c.outcome == Stopped
}

// fix sets the outcome, with mu locked.
func (c *Control) fix(o Outcome) {
	c.outcome = o
	if c.timer != nil {
		c.timer.Stop()
	}
}

// Settle tells all waiters and watchers the outcome. If none is fixed yet, the run has ended by itself.
func (c *Control) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcome == Pending {
		c.fix(Ended)
	}
	if c.settled {
		return
	}
	c.settled = true
	c.watchers = nil
	if c.done != nil {
		close(c.done)
	}
}

// Done is closed when the outcome is fixed and what follows from it is done.
func (c *Control) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.settled {
			close(c.done)
		}
	}
	return c.done
}

// State returns what was asked for, whether anything was, and the outcome.
func (c *Control) State() (info Info, requested bool, outcome Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info, c.requested, c.outcome
}

// A View is how a part of the run sees the control. A nil view sees nothing.
type View struct {
	control *Control
	reach   reach
}

// reach says which requests a part obeys:
//
//	outermost  every one
//	nested     those that are recursive
//	abortOnly  those that are recursive and immediate: it runs inside user code, which could do nothing with a
//	           part that stopped in the middle
type reach int

const (
	outermost reach = iota
	nested
	abortOnly
	reaches
)

// Root returns the view of the outermost part.
func (c *Control) Root() *View { return c.view(outermost) }

func (c *Control) view(r reach) *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.views[r].control == nil { // once: holders of the view read it without the lock
		c.views[r] = View{c, r}
	}
	return &c.views[r]
}

// Nested returns the view of a part inside.
func (v *View) Nested() *View { return v.within(nested) }

// AbortOnly returns the view of a part that code inside has started by itself.
func (v *View) AbortOnly() *View { return v.within(abortOnly) }

// within returns the view of a part that obeys no more than r and v.
func (v *View) within(r reach) *View {
	if v == nil || v.reach >= r {
		return v
	}
	return v.control.view(r)
}

// IsAbortOnly reports whether the part is either aborted or left to its end.
func (v *View) IsAbortOnly() bool { return v != nil && v.reach == abortOnly }

// Control returns what the view is of.
func (v *View) Control() *Control { return v.control }

// obeys reports whether a part with this reach obeys what is asked for.
func (r reach) obeys(info Info) bool {
	return r == outermost || info.Recursive && (r == nested || info.Immediate)
}

// Requested reports whether the part is to stop, in whatever way.
func (v *View) Requested() bool {
	if v == nil {
		return false
	}
	info, requested, outcome := v.control.State()
	return requested && outcome != Ended && v.reach.obeys(info)
}

// At reports whether the part is to stop at the safe point with the given bit. It is at every one if it is to stop at
// once.
func (v *View) At(point Mode) bool {
	if !v.Requested() {
		return false
	}
	info, _, _ := v.control.State()
	return info.Immediate || info.Mode&point != 0
}

// Now reports whether the part is to stop at once.
func (v *View) Now() bool {
	if !v.Requested() {
		return false
	}
	info, _, _ := v.control.State()
	return info.Immediate
}

// OnNow has s stopped, once, when the part is to stop at once, in the goroutine that asks for it, or right now if it
// is. [View.Forget] takes s back.
func (v *View) OnNow(s Stopper) {
	if v == nil {
		return
	}
	c := v.control
	c.mu.Lock()
	now := c.requested && c.info.Immediate && v.reach.obeys(c.info)
	if !now {
		c.watchers = append(c.watchers, watcher{s, v.reach})
	}
	c.mu.Unlock()
	if now {
		s.StopNow()
	}
}

// Forget takes a stopper back.
func (v *View) Forget(s Stopper) {
	if v == nil {
		return
	}
	v.control.mu.Lock()
	defer v.control.mu.Unlock()
	v.control.watchers = slices.DeleteFunc(v.control.watchers, func(w watcher) bool { return w.Stopper == s })
}

// StopFunc is a function as a [Stopper]. It cannot be forgotten.
type StopFunc func()

// StopNow calls the function.
func (f StopFunc) StopNow() { f() }
