package pull

import "context"

// A Waker is called when a source may have an item. Wake must be quick, must not call back into the source, and may be
// called without need.
type Waker interface{ Wake() }

// A Parker is the waker of a goroutine: it turns wakes into the end of a wait. A wake without a waiter is kept for the
// next wait; several are kept as one.
type Parker chan struct{}

// NewParker returns a parker for one goroutine.
func NewParker() Parker { return make(Parker, 1) }

// Wake ends the current wait or the next one.
func (p Parker) Wake() {
	select {
	case p <- struct{}{}:
	default:
	}
}

// Park waits for a wake.
func (p Parker) Park() { <-p }

// ParkContext waits for a wake or the end of ctx and reports whether it was the wake.
func (p Parker) ParkContext(ctx context.Context) bool {
	select {
	case <-p:
		return true
	case <-ctx.Done():
		return false
	}
}

// Wait takes the next item of src, parking p while there is none.
func Wait[T any](src Source[T], p Parker) Item[T] {
	for {
		if item, ok := src.Poll(p); ok {
			return item
		}
		p.Park()
	}
}
