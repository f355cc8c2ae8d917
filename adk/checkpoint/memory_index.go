package checkpoint

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// memoryIndex is the place where a MemoryStore looks for runs, so that it looks at no others. It is guarded by the store's
// mu.
type memoryIndex struct {
	// having are the runs with something that they keep for their life.
	having map[label]rowSet
	// in are the runs in each status, with the place of each: a run that changes has to be found where it was.
	in    map[runs.Status]map[*storekit.Row]struct{}
	stand map[*storekit.Row]runs.Status
	// asking are the runs that have a question without an answer.
	asking map[*storekit.Row]struct{}
	// due are the runs that a worker may have to take now, and later those whose time may come.
	due   map[*storekit.Row]struct{}
	later timetable
	// expiring are the runs that will have expired.
	expiring timetable
	// keyed are the runs of a key that others may have to wait for, in the order in which they were made.
	keyed map[string][]*storekit.Row
}

// label is a value by which runs are found: a tag, or, under a name that no tag is mixed up with, the agent, the key or the
// parent.
type label struct {
	of          labelKind
	name, value string
}

type labelKind byte

const (
	tagLabel labelKind = iota
	agentLabel
	keyLabel
	parentLabel
)

// rowSet is a set of rows, of which most have one.
type rowSet struct {
	only *storekit.Row
	more map[*storekit.Row]struct{}
}

func (s rowSet) len() int {
	if s.only != nil {
		return 1
	}
	return len(s.more)
}

func (s rowSet) with(r *storekit.Row) rowSet {
	if s.only == nil && s.more == nil {
		return rowSet{only: r}
	}
	if s.more == nil {
		s = rowSet{more: map[*storekit.Row]struct{}{s.only: {}}}
	}
	s.more[r] = struct{}{}
	return s
}

func (s rowSet) without(r *storekit.Row) rowSet {
	if s.only == r {
		return rowSet{}
	}
	delete(s.more, r)
	return s
}

// labels calls f with each label of a run.
func labels(r *storekit.Row, f func(label)) {
	for name, value := range r.Run.Tags {
		f(label{tagLabel, name, value})
	}
	for _, l := range [...]label{{agentLabel, "", r.Run.Agent}, {keyLabel, "", r.Run.Key}, {parentLabel, "", r.Run.Parent}} {
		if l.value != "" {
			f(l)
		}
	}
}

func newMemoryIndex() memoryIndex {
	return memoryIndex{having: map[label]rowSet{}, in: map[runs.Status]map[*storekit.Row]struct{}{}, stand: map[*storekit.Row]runs.Status{},
		asking: map[*storekit.Row]struct{}{}, due: map[*storekit.Row]struct{}{}, keyed: map[string][]*storekit.Row{}}
}

// add takes a new run in.
func (x *memoryIndex) add(r *storekit.Row) {
	labels(r, func(l label) { x.having[l] = x.having[l].with(r) })
	x.changed(r)
}

// remove forgets a run.
func (x *memoryIndex) remove(r *storekit.Row) {
	labels(r, func(l label) {
		if rest := x.having[l].without(r); rest.len() == 0 {
			delete(x.having, l)
		} else {
			x.having[l] = rest
		}
	})
	delete(x.in[x.stand[r]], r)
	delete(x.stand, r)
	delete(x.asking, r)
	delete(x.due, r)
	x.setKeyed(r, false)
}

// changed notes where a run is to be looked for from now on.
func (x *memoryIndex) changed(r *storekit.Row) {
	if before, known := x.stand[r]; !known || before != r.Run.Status {
		delete(x.in[before], r)
		if x.in[r.Run.Status] == nil {
			x.in[r.Run.Status] = map[*storekit.Row]struct{}{}
		}
		x.in[r.Run.Status][r] = struct{}{}
		x.stand[r] = r.Run.Status
	}
	if slices.ContainsFunc(r.Run.Waiting, func(p runs.Question) bool { return !p.Answered }) {
		x.asking[r] = struct{}{}
	} else {
		delete(x.asking, r)
	}
	delete(x.due, r)
	if from, ok := dueFrom(r); ok {
		x.later.add(r, from, x.isKnown)
	}
	if !r.Run.Expires.IsZero() {
		x.expiring.add(r, r.Run.Expires, x.isKnown)
	}
	x.setKeyed(r, r.BlocksKey())
}

// isKnown reports whether a run is still there.
func (x *memoryIndex) isKnown(r *storekit.Row) bool {
	_, known := x.stand[r]
	return known
}

// dueFrom is from when on a worker may have to take a run.
func dueFrom(r *storekit.Row) (time.Time, bool) {
	from, ok := r.DueFrom()
	if r.Run.Owner != "" && r.Run.LeaseUntil.After(from) {
		from = r.Run.LeaseUntil
	}
	return from, ok
}

// ready are the runs that a worker may have to take.
func (x *memoryIndex) ready(now time.Time) map[*storekit.Row]struct{} {
	x.later.upTo(now, func(r *storekit.Row) {
		from, ok := dueFrom(r)
		switch {
		case !ok || !x.isKnown(r):
		case from.After(now): // its lease was renewed
			x.later.add(r, from, x.isKnown)
		default:
			x.due[r] = struct{}{}
		}
	})
	return x.due
}

// expired calls f with the runs that have expired, while it returns true.
func (x *memoryIndex) expired(now time.Time, f func(r *storekit.Row) bool) {
	var again []*storekit.Row
	going := true
	x.expiring.upTo(now, func(r *storekit.Row) {
		switch {
		case !x.isKnown(r) || r.Run.Expires.IsZero():
		case !r.Expired(now) || !going: // a worker holds it, it is kept for longer, or it is the turn of the next sweep
			again = append(again, r)
		default:
			if going = f(r); !going {
				again = append(again, r)
			}
		}
	})
	for _, r := range again {
		x.expiring.add(r, r.Run.Expires, x.isKnown)
	}
}

// setKeyed has a run be, or not be, among those that others of its key may have to wait for.
func (x *memoryIndex) setKeyed(r *storekit.Row, blocks bool) {
	key := r.Run.Key
	if key == "" {
		return
	}
	all := x.keyed[key]
	i, is := slices.BinarySearchFunc(all, r, func(a, b *storekit.Row) int { return cmp.Compare(a.Born, b.Born) })
	switch {
	case is == blocks:
	case blocks:
		x.keyed[key] = slices.Insert(all, i, r)
	case len(all) == 1:
		delete(x.keyed, key)
	default:
		x.keyed[key] = slices.Delete(all, i, i+1)
	}
}

// blocked is the run that must end before r can be taken, nil for most. One that was made before is the first one of all.
func (x *memoryIndex) blocked(r *storekit.Row, now time.Time) *storekit.Row {
	for _, other := range x.keyed[r.Run.Key] {
		if r.IsBehind(other, now) {
			return other
		}
	}
	return nil
}

// find calls f with the runs that a query may be about: the fewest that are known to have something that it looks for.
func (x *memoryIndex) find(q *runs.Query, f func(r *storekit.Row)) {
	var fewest rowSet
	isFew := false
	try := func(s rowSet) {
		if !isFew || s.len() < fewest.len() {
			fewest, isFew = s, true
		}
	}
	for name, value := range q.Tags {
		try(x.having[label{tagLabel, name, value}])
	}
	for _, l := range [...]label{{agentLabel, "", q.Agent}, {keyLabel, "", q.Key}, {parentLabel, "", q.Parent}} {
		if l.value != "" {
			try(x.having[l])
		}
	}
	if q.WaitingFor != "" || q.Kind != "" {
		try(rowSet{more: x.asking})
	}
	n, statuses := 0, q.Status
	if len(statuses) == 0 {
		statuses = []runs.Status{runs.Ready, runs.Running, runs.Waiting, runs.Paused, runs.Done, runs.Failed}
	} else if len(statuses) > 1 {
		statuses = slices.Compact(slices.Sorted(slices.Values(statuses)))
	}
	for _, status := range statuses {
		n += len(x.in[status])
	}
	if !isFew || n < fewest.len() {
		for _, status := range statuses {
			for r := range x.in[status] {
				f(r)
			}
		}
		return
	}
	if fewest.only != nil {
		f(fewest.only)
	}
	for r := range fewest.more {
		f(r)
	}
}
