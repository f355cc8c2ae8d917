package storekit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/runs"
)

// ErrBadCursor is the error of a query whose After was not made by checkpoint.Cursor.
var ErrBadCursor = errors.New("list runs: the cursor is none of this store: take it from checkpoint.Cursor")

// Listing is a query with its cursor.
type Listing struct {
	runs.Query
	updated time.Time
	id      string
}

// NewListing reads the cursor.
func NewListing(q runs.Query) (l Listing, err error) {
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
func (l *Listing) Matches(i *runs.Info) bool {
	if l.After != "" && !(i.Updated.Before(l.updated) || i.Updated.Equal(l.updated) && i.ID > l.id) {
		return false
	}
	if l.Queue == "" && i.Queue == OwnQueue {
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
func (l *Listing) asks(p runs.Question) bool {
	return !p.Answered && (l.Kind == "" || l.Kind == p.Kind) && (l.WaitingFor == "" || slices.Contains(p.For, l.WaitingFor))
}

// InOrder sorts runs as they are listed: the one updated last first.
func InOrder(a, b runs.Info) int {
	if c := b.Updated.Compare(a.Updated); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// List is the List of a store that finds the runs of a query by looking at all of them.
func List(
	ctx context.Context, q runs.Query, find func(ctx context.Context, l *Listing) ([]runs.Info, error),
) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		l, err := NewListing(q)
		var found []runs.Info
		if err == nil {
			found, err = find(ctx, &l)
		}
		if err != nil {
			yield(runs.Info{}, err)
			return
		}
		slices.SortFunc(found, InOrder)
		for i, info := range found {
			if l.Limit > 0 && i >= l.Limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(runs.Info{}, Failed("list", info.ID, err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Count is the Count of such a store.
func Count(
	ctx context.Context, q runs.Query, find func(ctx context.Context, l *Listing) ([]runs.Info, error),
) (map[runs.Status]int64, error) {
	q.After, q.Limit = "", 0
	counts := map[runs.Status]int64{}
	for info, err := range List(ctx, q, find) {
		if err != nil {
			return counts, err
		}
		counts[info.Status]++
	}
	return counts, nil
}

// InDueOrder sorts runs as workers take them: see [Row.Before].
func InDueOrder(a, b *Row, now time.Time) int {
	since, _ := a.DueAt(now)
	other, _ := b.DueAt(now)
	switch {
	case a.Before(b, since, other):
		return -1
	case b.Before(a, other, since):
		return 1
	}
	return 0
}
