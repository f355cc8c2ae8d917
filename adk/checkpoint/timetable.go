package checkpoint

import (
	"slices"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// timetable has rows in the order of a time. A row may have several entries, of which some are from before it changed: a
// caller that gets a row checks it.
type timetable struct {
	// entries are a heap: none is earlier than the one at half its index.
	entries []entry
}

type entry struct {
	at  time.Time
	row *storekit.Row
}

// fewEntries is up to how many entries a timetable may have of rows that it need not have.
const fewEntries = 1024

// add adds an entry. When there are many, it removes the entries of rows that are not known any more, and of each other row
// all but the earliest.
func (t *timetable) add(r *storekit.Row, at time.Time, isKnown func(r *storekit.Row) bool) {
	if len(t.entries) == cap(t.entries) && len(t.entries) >= fewEntries {
		slices.SortFunc(t.entries, func(a, b entry) int { return a.at.Compare(b.at) })
		seen := map[*storekit.Row]bool{}
		t.entries = slices.DeleteFunc(t.entries, func(e entry) bool {
			gone := seen[e.row] || !isKnown(e.row)
			seen[e.row] = true
			return gone
		})
		t.entries = slices.Grow(t.entries, len(t.entries)+1) // so that this happens when it has doubled
	}
	t.entries = append(t.entries, entry{at, r})
	for i := len(t.entries) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.entries[i].at.Before(t.entries[parent].at) {
			break
		}
		t.entries[i], t.entries[parent] = t.entries[parent], t.entries[i]
		i = parent
	}
}

// upTo takes the entries out whose time has come, and calls f with their rows.
func (t *timetable) upTo(now time.Time, f func(r *storekit.Row)) {
	for len(t.entries) > 0 && !t.entries[0].at.After(now) {
		f(t.takeFirst())
	}
}

// takeFirst takes the earliest entry out.
func (t *timetable) takeFirst() *storekit.Row {
	first, last := t.entries[0].row, len(t.entries)-1
	t.entries[0], t.entries[last] = t.entries[last], entry{}
	t.entries = t.entries[:last]
	for i := 0; ; {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < last && t.entries[child].at.Before(t.entries[least].at) {
				least = child
			}
		}
		if least == i {
			return first
		}
		t.entries[i], t.entries[least] = t.entries[least], t.entries[i]
		i = least
	}
}
