package nats

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// viewAge is how long a view may not be refreshed before it begins anew: shorter than the time for which heads remain of
// what was removed.
const viewAge = goneFor / 2

// view is what a process knows of the runs of a tenant that may become due, are in front of others of their key, or
// expire: their heads, which it follows by their sequence. Each look asks only for those that changed since the last
// one. What it says is a hint: whoever takes a run reads it anew. Records are not in it, so a lease may count for longer.
type view struct {
	mu sync.Mutex // guards the fields below; it is held while the server is asked, and no other lock but the wire's is then
	// upTo is the sequence of the last head that was seen, and at when that was.
	upTo uint64
	at   time.Time
	runs map[string]*seen // by ID
	// keyed are the IDs of the runs of a key.
	keyed map[string]map[string]*seen
}

// seen is a run as it was seen last.
type seen struct {
	row storekit.Row
	seq uint64
	// isTried says that somebody in this process tries to take the run just now.
	isTried bool
}

func newView() *view {
	return &view{runs: map[string]*seen{}, keyed: map[string]map[string]*seen{}}
}

// refresh reads the heads that changed.
func (s *Store) refresh(ctx context.Context) error {
	v := s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Now().Round(0).Sub(v.at) > viewAge { // by the clock on the wall, which counts while a machine sleeps
		v.upTo, v.runs, v.keyed = 0, map[string]*seen{}, map[string]map[string]*seen{}
	}
	began := time.Now().Round(0)
	for more := true; more; {
		var heads []*state
		var err error
		if heads, more, err = s.headsFrom(ctx, v.upTo+1); err != nil {
			return err
		}
		for _, st := range heads {
			v.noteLocked(st)
			v.upTo = st.headSeq
		}
	}
	v.at = began
	return nil
}

// note keeps a run as it was read.
func (v *view) note(st *state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noteLocked(st)
}

func (v *view) noteLocked(st *state) {
	id := st.Row.Run.ID
	before := v.runs[id]
	if before != nil && before.seq > st.version {
		return
	}
	if !st.IsRun || !st.Row.MayBecomeDue() && !st.Row.BlocksKey() && st.Row.Run.Expires.IsZero() {
		v.forgetLocked(id)
		return
	}
	now := &seen{row: st.Row, seq: st.version}
	now.row.Answers, now.row.Result, now.row.Run.Waiting, now.row.Run.Tags, now.row.Run.Error = nil, nil, nil, nil, ""
	if before != nil {
		now.isTried = before.isTried
	}
	v.runs[id] = now
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
	key := r.row.Run.Key
	if delete(v.keyed[key], id); len(v.keyed[key]) == 0 {
		delete(v.keyed, key)
	}
}

// try returns the run that is to be taken first, of those that nobody in this process tries to take. tried is to be
// called afterwards; it is nil if there is none.
func (v *view) try(due checkpoint.Due, now time.Time) (id string, tried func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var first *seen
	var firstSince time.Time
	for _, r := range v.runs {
		since, isDue := r.row.DueAt(now)
		if isDue && !r.isTried && r.row.IsAmong(due) && (first == nil || r.row.Before(&first.row, since, firstSince)) &&
			!v.isBehind(r, now) {
			first, firstSince = r, since
		}
	}
	if first == nil {
		return "", nil
	}
	id = first.row.Run.ID
	first.isTried = true
	return id, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if r := v.runs[id]; r != nil {
			r.isTried = false
		}
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
