package core

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/weftgo/weft/runs"
)

// targets are the interrupt points that the caller wants to resume, with the data for each. A targets value in a
// context is never changed: adding to it makes a new one.
type targets map[string]any

type targetsKey struct{}

func targetsFrom(ctx context.Context) targets {
	t, _ := ctx.Value(targetsKey{}).(targets)
	return t
}

// BatchResumeWithData returns a context that targets the interrupts named by the keys of resumeData, in addition to
// those that ctx targets already. A nil value targets the interrupt without data.
func BatchResumeWithData(ctx context.Context, resumeData map[string]any) context.Context {
	ctx = orBackground(ctx)
	merged := maps.Clone(targetsFrom(ctx))
	if merged == nil {
		merged = make(targets, len(resumeData))
	}
	maps.Copy(merged, resumeData)
	return context.WithValue(ctx, targetsKey{}, merged)
}

// point is one interrupt of the run that is being resumed.
type point struct {
	id    string
	state InterruptState
	// depth is the length of the address of the run whose checkpoint has the state.
	depth    int
	taken    bool // the state was handed to the code at the point's address
	answered bool // the caller's data was handed over, too
}

// learn takes the state from the checkpoint of the run that the point belongs to. What a run around that one stored
// about the point has none.
func (p *point) learn(state InterruptState, depth int) {
	if !p.taken && p.state.State == nil && p.state.LayerSpecificPayload == nil {
		p.state, p.depth = state, depth
	}
}

// pointTree holds interrupt points by address, a level a segment.
type pointTree struct {
	points   []*point
	children map[AddressSegment]*pointTree
}

func (t *pointTree) child(s AddressSegment) *pointTree {
	if t == nil {
		return nil
	}
	return t.children[s]
}

func (t *pointTree) insert(addr Address, p *point) {
	for _, s := range addr {
		next := t.children[s]
		if next == nil {
			next = &pointTree{}
			if t.children == nil {
				t.children = map[AddressSegment]*pointTree{}
			}
			t.children[s] = next
		}
		t = next
	}
	t.points = append(t.points, p)
}

func (t *pointTree) any(match func(*point) bool) bool {
	if t == nil {
		return false
	}
	for _, p := range t.points {
		if match(p) {
			return true
		}
	}
	for _, c := range t.children {
		if c.any(match) {
			return true
		}
	}
	return false
}

// tracker keeps, for one root run, which interrupts of the earlier run are still open. Everything that runs below
// the root shares it, so that an interrupt is handed over once; two runs from one context have a tracker each.
type tracker struct {
	mu   sync.Mutex // guards the fields below
	root pointTree
	byID map[string]*point
}

func (tr *tracker) add(id2Addr map[string]Address, id2State map[string]InterruptState, depth int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for id, addr := range id2Addr {
		if known := tr.byID[id]; known != nil {
			known.learn(id2State[id], depth)
			continue
		}
		p := &point{id: id, state: id2State[id], depth: depth}
		tr.byID[id] = p
		tr.root.insert(addr, p)
	}
}

// entry holds what a frame found when it was entered.
type entry struct {
	interrupted bool
	state       InterruptState
	target      bool
	data        any
}

// take hands over what is open at the root of points, or only the interrupt with the given ID. It returns nil when the
// address has nothing to do with the resume.
func (tr *tracker) take(points *pointTree, wanted targets, id string) *entry {
	if points == nil {
		return nil
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var e entry
	for _, p := range points.points {
		if p.taken || id != "" && p.id != id {
			continue
		}
		p.taken = true
		e.interrupted, e.state = true, p.state
		if data, ok := wanted[p.id]; ok && !p.answered {
			p.answered = true
			e.target, e.data = true, data
		}
		break
	}
	e.target = e.target || points.anyBelow(wanted.open)
	if !e.interrupted && !e.target {
		return nil
	}
	return &e
}

// find looks among the points at one address for the one that was left by code, and reports whether some are kept apart.
func (tr *tracker) find(points *pointTree, which func(InterruptState) (apart, this bool)) (id string, apart bool) {
	if points == nil {
		return "", false
	}
	tr.mu.Lock()
	left := slices.Clone(points.points)
	tr.mu.Unlock()
	for _, p := range left {
		tr.mu.Lock()
		state, taken := p.state, p.taken
		tr.mu.Unlock()
		is, this := which(state)
		if apart = apart || is; this && !taken {
			return p.id, true
		}
	}
	return "", apart
}

// openBelow reports whether the resume is meant for something below points.
func (tr *tracker) openBelow(points *pointTree, wanted targets) bool {
	if points == nil {
		return false
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return points.anyBelow(wanted.open)
}

// open reports whether the resume is meant for a point that was not taken yet.
func (wanted targets) open(p *point) bool {
	if len(wanted) == 0 {
		return !p.taken
	}
	_, ok := wanted[p.id]
	return ok && !p.answered
}

func (t *pointTree) anyBelow(match func(*point) bool) bool {
	for _, c := range t.children {
		if c.any(match) {
			return true
		}
	}
	return false
}

// PopulateInterruptState returns a context of a resumed run: the interrupt points of the earlier run, by absolute
// address, wait there for the code that enters those addresses. Below a run that is resumed already, the points are
// added to that run's; points it knows keep their progress. The frame of ctx is looked up again, so that a point at
// ctx's own address is handed over, too.
func PopulateInterruptState(
	ctx context.Context, id2Addr map[string]Address, id2State map[string]InterruptState,
) context.Context {
	c := &frameContext{Context: ctx}
	f := FrameFrom(ctx)
	if f != nil {
		c.frame = *f
	}
	c.frame.Populate(ctx, id2Addr, id2State)
	return c
}

// Populate is [PopulateInterruptState] on a frame that is not in a context yet.
func (f *Frame) Populate(ctx context.Context, id2Addr map[string]Address, id2State map[string]InterruptState) {
	if len(id2Addr) == 0 {
		return
	}
	if f.tracker == nil {
		f.tracker = &tracker{byID: make(map[string]*point, len(id2Addr))}
	}
	address := f.Address()
	f.tracker.add(id2Addr, id2State, len(address))
	f.points = &f.tracker.root
	for _, s := range address {
		f.points = f.points.child(s)
	}
	if e := f.tracker.take(f.points, targetsFrom(ctx), ""); e != nil && e.interrupted {
		// The root of a resumed run is always meant by the resume, whatever else is targeted.
		e.target = true
		f.entry = e
	}
}

// Resumption returns what a resumed run holds for the frame's address: whether it was interrupted and with which
// state, and whether the resume is meant for it or something below and with which data.
func (f *Frame) Resumption() (interrupted bool, state InterruptState, target bool, data any) {
	if f == nil || f.entry == nil {
		return false, InterruptState{}, false, nil
	}
	e := f.entry
	return e.interrupted, e.state, e.target, e.data
}

// GetInterruptState reports whether the code at ctx's address was interrupted in the run that is being resumed, and the
// state it left. hasState is true only for a non-nil state of type T.
func GetInterruptState[T any](ctx context.Context) (wasInterrupted bool, hasState bool, state T) {
	interrupted, held, _, _ := FrameFrom(ctx).Resumption()
	if !interrupted || held.State == nil {
		return interrupted, false, state
	}
	state, hasState = held.State.(T)
	return true, hasState, state
}

// GetResumeContext reports whether the resume is meant for the code at ctx's address or something below it, and the
// caller's data for exactly this address. hasData is true only for non-nil data of type T, and for a [runs.JSONReply] that
// can be decoded into one.
func GetResumeContext[T any](ctx context.Context) (isResumeTarget bool, hasData bool, data T) {
	_, _, target, held := FrameFrom(ctx).Resumption()
	if !target || held == nil {
		return target, false, data
	}
	if data, hasData = held.(T); !hasData {
		if raw, ok := held.(runs.JSONReply); ok {
			data, hasData = decodeAnswer[T](ctx, raw)
		}
	}
	return true, hasData, data
}

// GetNextResumptionPoints returns the IDs of the segments right below ctx's address that have an open interrupt at
// or below them. It is an error to ask outside a resumed run.
func GetNextResumptionPoints(ctx context.Context) (map[string]bool, error) {
	f := FrameFrom(ctx)
	if f == nil || f.tracker == nil {
		return nil, errors.New("GetNextResumptionPoints: failed to get resume info from context")
	}
	f.tracker.mu.Lock()
	defer f.tracker.mu.Unlock()
	next := map[string]bool{}
	if f.points == nil {
		return next, nil
	}
	for segment, sub := range f.points.children {
		if sub.any(func(p *point) bool { return !p.taken }) {
			next[segment.ID] = true
		}
	}
	return next, nil
}

// InterruptedBelow returns the interrupts of the earlier run below ctx's address, with their IDs and states, for code
// that is stopped again before it could continue from them. info is their new info. Runs below that have checkpoints of
// their own, which are in the state of the code, keep the states that are there: an agent that continues from its
// journal instead, behind its checkpoint, must not find them.
func InterruptedBelow(ctx context.Context, info any) []*InterruptSignal {
	f := FrameFrom(ctx)
	if f == nil || f.tracker == nil || f.points == nil {
		return nil
	}
	f.tracker.mu.Lock()
	defer f.tracker.mu.Unlock()
	address := f.Address()
	return f.points.signalsBelow(address, info, len(address))
}

// signalsBelow has the states that are in checkpoints of runs whose address is at most depth long.
func (t *pointTree) signalsBelow(addr Address, info any, depth int) (signals []*InterruptSignal) {
	segments := slices.SortedFunc(maps.Keys(t.children), func(a, b AddressSegment) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID), cmp.Compare(a.SubID, b.SubID))
	})
	for _, segment := range segments {
		child, at := t.children[segment], append(slices.Clip(addr), segment)
		below := child.signalsBelow(at, info, depth)
		for _, p := range child.points {
			s := &InterruptSignal{ID: p.id, Address: at,
				InterruptInfo: InterruptInfo{Info: info, IsRootCause: len(below) == 0}, Subs: below}
			if p.depth <= depth {
				s.InterruptState = p.state
			}
			below = []*InterruptSignal{s}
		}
		signals = append(signals, below...)
	}
	return signals
}

// HasTargets reports whether the resume names interrupt points.
func HasTargets(ctx context.Context) bool { return len(targetsFrom(ctx)) > 0 }
