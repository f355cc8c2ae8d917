package storekit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrBadCursor is the error of a query whose After was not made by checkpoint.Cursor.
var ErrBadCursor = errors.New("list runs: the cursor is none of this store: take it from checkpoint.Cursor")

// Listing is a query with its cursor.
type Listing struct {
	Query
	updated time.Time
	id      string
}

// NewListing reads the cursor.
func NewListing(q Query) (l Listing, err error) {
	l.Query = q
	if q.After == "" {
		return l, nil
	}
	micros, id, ok := strings.Cut(q.After, ".")
	var at int64
	if _, err := fmt.Sscanf(micros, "%x", &at); err != nil || !ok {
		return l, ErrBadCursor
	}
	l.updated, l.id = time.UnixMicro(at), id
	return l, nil
}

// Matches reports whether the run is to be listed.
func (l *Listing) Matches(i *RunInfo) bool {
	if l.After != "" && !(i.Updated.Before(l.updated) || i.Updated.Equal(l.updated) && i.ID > l.id) {
		return false
	}
	same := func(want, got string) bool { return want == "" || want == got }
	if len(l.Status) > 0 && !slices.Contains(l.Status, i.Status) || !same(l.Queue, i.Queue) || !same(l.Agent, i.Agent) ||
		!same(l.Parent, i.Parent) || !same(l.Key, i.Key) {
		return false
	}
	if !l.CreatedAfter.IsZero() && !i.Created.After(l.CreatedAfter) ||
		!l.UpdatedBefore.IsZero() && !i.Updated.Before(l.UpdatedBefore) {
		return false
	}
	for key, value := range l.Tags {
		if got, ok := i.Tags[key]; !ok || got != value {
			return false
		}
	}
	return l.WaitingFor == "" && l.Kind == "" || slices.ContainsFunc(i.Waiting, l.asks)
}

// asks reports whether a question is one that the query looks for.
func (l *Listing) asks(p WaitPoint) bool {
	return !p.Answered && (l.Kind == "" || l.Kind == p.Kind) && (l.WaitingFor == "" || slices.Contains(p.For, l.WaitingFor))
}

// InOrder sorts runs as they are listed: the one updated last first.
func InOrder(a, b RunInfo) int {
	if c := b.Updated.Compare(a.Updated); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
