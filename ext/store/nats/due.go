package nats

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// viewAge is the time for which a view may not be refreshed before it begins again: shorter than the time for which heads
// remain of what was removed.
const viewAge = goneFor / 2

// viewFresh is for how long a view that has a run to take is believed: what other processes have submitted meanwhile
// may be more urgent.
const viewFresh = 20 * time.Millisecond

// view holds what a process knows of the runs of a tenant that may become due, are in front of others of their key, or
// expire: their heads, which it follows by their sequence. Each look asks only for those that changed since the last
// one; what this process writes it knows at once. What it says is a hint: a call that takes a run reads it again.
// Records are not in it, so a lease may count for longer.
type view struct {
	// turn is full while the server is asked. It guards upTo, the sequence of the last head that was delivered, and at,
	// when the server was asked last. It is taken before mu.
	turn chan struct{}
	upTo uint64
	at   time.Time

	mu   sync.Mutex       // guards the fields below; no other lock is taken while it is held
	runs map[string]*seen // by ID
	// bad are the errors of heads that cannot be read, by the hashes of their IDs.
	bad map[string]*storekit.RowError
	// keyed are the runs of a key, queues the runs that may become due and that no goroutine of this process tries to
	// take.
	keyed  map[string]map[string]*seen
	queues map[queueName]*queue
}

// seen is a run as it was seen last.
type seen struct {
	row storekit.Row
	seq uint64
	// isTried says that a goroutine of this process tries to take the run just now.
	isTried bool
	// since is since when the run is due, from when on it can be taken. in is where it waits for that, and index where
	// there.
	since, from time.Time
	in          *ordered
	index       int
}

func newView() *view {
	v := &view{turn: make(chan struct{}, 1)}
	v.clear()
	return v
}

// clear forgets all runs.
func (v *view) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.runs, v.keyed, v.queues = map[string]*seen{}, map[string]map[string]*seen{}, map[queueName]*queue{}
	v.bad = map[string]*storekit.RowError{}
}

// refresh reads the heads that changed, unless that was done a moment ago.
func (s *Store) refresh(ctx context.Context, moment time.Duration) error {
	v := s.view
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := time.Now().Round(0) // the clock on the wall counts while a machine sleeps
	age := now.Sub(v.at)
	if age >= 0 && age < moment {
		return nil
	}
	if age < 0 || age > viewAge {
		v.clear()
		v.upTo = 0
	}
	for more := true; more; {
		var heads []*state
		var err error
		if heads, more, err = s.headsFrom(ctx, v.upTo+1); err != nil {
			return err
		}
		for _, st := range heads {
			v.note(st)
			v.upTo = st.headSeq
			s.clock.reached(st.modified)
		}
	}
	v.at = now
	return nil
}

// note keeps a run as it was read.
func (v *view) note(st *state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id := st.Row.Run.ID
	before := v.runs[id]
	if before != nil && before.seq > st.version {
		return
	}
	delete(v.bad, st.hash)
	if st.bad != nil {
		v.bad[st.hash] = st.bad
		v.forgetLocked(id)
		return
	}
	_, mayBecomeDue := st.Row.DueFrom()
	if !st.IsRun || !mayBecomeDue && !st.Row.BlocksKey() && st.Row.Run.Expires.IsZero() {
		v.forgetLocked(id)
		return
	}
	now := &seen{row: st.Row, seq: st.version}
	now.row.Answers, now.row.Result, now.row.Run.Waiting, now.row.Run.Tags, now.row.Run.Error = nil, nil, nil, nil, ""
	if before != nil {
		now.isTried = before.isTried
		before.leave()
	}
	v.runs[id] = now
	v.enter(now)
	if key := st.Row.Run.Key; key != "" {
		if v.keyed[key] == nil {
			v.keyed[key] = map[string]*seen{}
		}
		v.keyed[key][id] = now
	}
}

// forget drops a run that is not there any more.
func (v *view) forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forgetLocked(id)
}

func (v *view) forgetLocked(id string) {
	r := v.runs[id]
	if r == nil {
		return
	}
	delete(v.runs, id)
	r.leave()
	key := r.row.Run.Key
	if delete(v.keyed[key], id); len(v.keyed[key]) == 0 {
		delete(v.keyed, key)
	}
}

// try returns the run that is to be taken first, of the runs that no goroutine of this process tries to take. tried is
// to be called afterwards; it is nil if there is none.
func (v *view) try(due runs.Due, now time.Time) (id string, tried func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var passed []*seen // those that have to wait for another one of their key
	defer func() {
		for _, r := range passed {
			v.enter(r)
		}
	}()
	for {
		r := v.firstOf(due, now)
		if r == nil {
			return "", nil
		}
		r.leave()
		if v.isBehind(r, now) {
			passed = append(passed, r)
			continue
		}
		r.isTried = true
		id = r.row.Run.ID
		return id, func() { v.tried(id) }
	}
}

// tried ends an attempt to take a run.
func (v *view) tried(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.runs[id]; r != nil {
		r.isTried = false
		v.enter(r)
	}
}

func (v *view) isBehind(r *seen, now time.Time) bool {
	for _, other := range v.keyed[r.row.Run.Key] {
		if r.row.IsBehind(&other.row, now) {
			return true
		}
	}
	return false
}

// unreadable are the errors of heads that cannot be read.
func (v *view) unreadable() []*storekit.RowError {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.bad))
}

// expired are the IDs of the runs that are to be swept, the one that expired first first.
func (v *view) expired(now time.Time) (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []*seen
	for _, r := range v.runs {
		if r.row.Expired(now) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *seen) int { return a.row.Run.Expires.Compare(b.row.Run.Expires) })
	for _, r := range all {
		ids = append(ids, r.row.Run.ID)
	}
	return ids
}
