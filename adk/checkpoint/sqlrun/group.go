package sqlrun

import (
	"context"
	"slices"
	"sync"
)

// group has calls that are made at the same time share a transaction or a statement. One of the callers leads: it takes
// all items that wait, does them with its own, and passes the lead on.
type group[T any] struct {
	mu      sync.Mutex // mu guards waiting and led; no other lock is taken while it is held
	waiting []*member[T]
	led     bool
}

// member is one call.
type member[T any] struct {
	item T
	// ready is closed when a leader has done the item, or has passed the lead on to this member; leads says which.
	ready chan struct{}
	leads bool
}

// do has an item done, by this call or by one that leads; all may do several. An item holds its own result. The error is the
// error of a context that ended before a leader began with the item.
func (g *group[T]) do(ctx context.Context, item T, all func(ctx context.Context, items []T)) error {
	m := &member[T]{item: item, ready: make(chan struct{})}
	if !g.lead(m) {
		select {
		case <-m.ready:
		case <-ctx.Done():
			if g.withdraw(m) {
				return ctx.Err()
			}
			<-m.ready // a leader is doing it
		}
		if !m.leads {
			return nil
		}
	}
	defer g.passOn()
	if err := ctx.Err(); err != nil {
		return err
	}
	others := g.take()
	items := make([]T, 0, len(others)+1)
	for _, other := range others {
		items = append(items, other.item)
	}
	if len(others) > 0 {
		ctx = context.WithoutCancel(ctx) // the others have contexts of their own
	}
	defer func() {
		for _, other := range others {
			close(other.ready)
		}
	}()
	all(ctx, append(items, item))
	return nil
}

// lead makes a member the leading one if there is none, and has it wait otherwise.
func (g *group[T]) lead(m *member[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.led {
		g.led = true
		return true
	}
	g.waiting = append(g.waiting, m)
	return false
}

// withdraw reports whether the member was still waiting.
func (g *group[T]) withdraw(m *member[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// take takes the members that wait.
func (g *group[T]) take() []*member[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.waiting
	g.waiting = nil
	return all
}

// passOn has the member lead that waits for longest.
func (g *group[T]) passOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.led = len(g.waiting) > 0; !g.led {
		return
	}
	first := g.waiting[0]
	g.waiting = g.waiting[1:]
	first.leads = true
	close(first.ready)
}
