package callbacks

import (
	"context"
	"slices"
	"sync/atomic"
)

// HandlerSet is an immutable list of handlers: the handlers of a run, followed by the global ones known when the set was
// made. Whatever can be found out about a handler once is kept here. A set is never empty; without handlers it is nil.
type HandlerSet struct {
	entries []entry
	runs    int         // entries[:runs] are the run's own, the rest are global
	globals *HandlerSet // the global set the rest was taken from; itself for a global set
	timings Timings     // what at least one handler may need
}

// newSet returns the set of entries; nil if there are none.
func newSet(entries []entry) *HandlerSet {
	if len(entries) == 0 {
		return nil
	}
	s := &HandlerSet{entries: entries}
	for _, e := range entries {
		s.timings |= e.timings
	}
	return s
}

// newRunSet returns the set of a run: the handlers of own, a part of another set, then more, then the global ones of
// this moment.
func newRunSet(own []entry, more []Handler) *HandlerSet {
	global := globals.Load()
	if len(own)+len(more) == 0 {
		return global
	}
	entries := make([]entry, 0, len(own)+len(more)+len(global.all()))
	entries = appendEntries(append(entries, own...), more)
	runs := len(entries)
	if runs == 0 {
		return global
	}
	s := newSet(append(entries, global.all()...))
	s.runs, s.globals = runs, global
	return s
}

// newGlobalSet returns a set without run handlers.
func newGlobalSet(entries []entry) *HandlerSet {
	s := newSet(entries)
	if s != nil {
		s.globals = s
	}
	return s
}

func (s *HandlerSet) all() []entry {
	if s == nil {
		return nil
	}
	return s.entries
}

// globals is the process-wide set. It is replaced, never changed.
var globals atomic.Pointer[HandlerSet]

// SetGlobal replaces the global handlers. Sets made before are not affected. It is safe for concurrent use.
func SetGlobal(handlers []Handler) {
	globals.Store(newGlobalSet(appendEntries(nil, handlers)))
}

// AppendGlobal adds handlers to the global ones. Sets made before are not affected. It is safe for concurrent use.
func AppendGlobal(handlers ...Handler) {
	for {
		old := globals.Load()
		entries := appendEntries(slices.Clip(old.all()), handlers)
		if len(entries) == len(old.all()) || globals.CompareAndSwap(old, newGlobalSet(entries)) {
			return
		}
	}
}

// entry is a handler with what is known about the timings it needs.
type entry struct {
	handler Handler
	checker TimingChecker // nil if timings is the whole answer
	timings Timings       // what it may need
}

func newEntry(h Handler) entry {
	e := entry{handler: h, timings: allTimings}
	if static, ok := h.(StaticHandler); ok {
		e.timings = static.NeededTimings()
		return e
	}
	e.checker, _ = h.(TimingChecker)
	return e
}

// appendEntries adds the handlers that are not nil.
func appendEntries(entries []entry, handlers []Handler) []entry {
	for _, h := range handlers {
		if h != nil {
			entries = append(entries, newEntry(h))
		}
	}
	return entries
}

// needs reports whether the handler is to be called. A panic of the handler's own check passes if caught is nil, else
// it is added there.
func (e *entry) needs(ctx context.Context, info *RunInfo, timing CallbackTiming, caught *error) (yes bool) {
	if e.checker == nil {
		return e.timings.Has(timing)
	}
	if caught != nil {
		defer catch(caught)
	}
	return e.checker.Needed(ctx, info, timing)
}
