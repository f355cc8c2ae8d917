package callbacks

import "github.com/weftgo/weft/components"

// State holds what a context says about callbacks: the handlers that apply, the run they will be called for next, and the
// run that was started last. It is immutable; the methods that change something return a new value. The nil *State is the
// state of a context that says nothing.
type State struct {
	set     *HandlerSet // nil: there are no handlers
	pending *RunInfo    // the run the next start is for
	last    *RunInfo    // the run whose start came last, also without handlers
}

// Active reports whether there is any handler.
func (s *State) Active() bool { return s != nil && s.set != nil }

// Needs reports whether some handler may need a timing. False is certain.
func (s *State) Needs(timing CallbackTiming) bool {
	return s.Active() && s.set.timings.Has(timing)
}

// Pending returns the run that the next start will be for; nil if there is none.
func (s *State) Pending() *RunInfo {
	if s == nil {
		return nil
	}
	return s.pending
}

// Last returns the run that was started last; nil if there is none.
func (s *State) Last() *RunInfo {
	if s == nil {
		return nil
	}
	return s.last
}

// Init returns a state with the given handlers and the present global ones; inherited handlers are dropped. If that
// leaves no handlers the state is inactive.
func (s *State) Init(info *RunInfo, handlers ...Handler) State {
	return s.renew(newRunSet(nil, handlers), info)
}

// Append returns a state with the handlers of s, the given ones, and the present global ones.
func (s *State) Append(info *RunInfo, handlers ...Handler) State {
	if !s.Active() {
		return s.Init(info, handlers...)
	}
	if len(handlers) == 0 && s.set.globals == globals.Load() {
		return s.renew(s.set, info)
	}
	return s.renew(newRunSet(s.set.entries[:s.set.runs], handlers), info)
}

// WithInfo returns a state with the same handlers for the next run, info, which may be nil. Without handlers it is
// Init.
func (s *State) WithInfo(info *RunInfo) State {
	if !s.Active() {
		return s.Init(info)
	}
	return s.renew(s.set, info)
}

// Started returns the state in which the pending run has been started: handlers are called at its end next.
func (s *State) Started() State {
	if !s.Active() {
		return s.renew(nil, nil)
	}
	return State{set: s.set, last: s.pending}
}

// renew returns a state that differs from s in handlers and pending run.
func (s *State) renew(set *HandlerSet, pending *RunInfo) State {
	if set == nil {
		pending = nil
	}
	return State{set: set, pending: pending, last: s.Last()}
}

// ensure returns a state that has a pending run, and whether it differs from s.
func (s *State) ensure(typ string, component components.Component) (State, bool) {
	if s.Active() && s.pending != nil {
		return *s, false
	}
	if !s.Active() && globals.Load() == nil {
		return State{}, false
	}
	return s.WithInfo(&RunInfo{Type: typ, Component: component}), true
}
