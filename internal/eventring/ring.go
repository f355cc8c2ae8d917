// Package eventring is the unbounded queue between a run and the readers of its events.
//
// The run puts items in and never waits; readers wait for them. Room is reused, so that a queue whose reader keeps up
// never grows, and items that were taken are let go at once.
// It must never start a goroutine or know what an item is.
package eventring

import "sync"

const firstSize = 4

// Ring is a first-in, first-out queue. The zero value is ready. It is safe for any number of writers and readers; each
// item goes to one reader. A Ring must not be copied.
type Ring[T any] struct {
	mu     sync.Mutex // guards all fields below
	filled sync.Cond
	// items[head : head+count], around the end, are waiting.
	items       []T
	head, count int
	// first is the room of short queues, so that they allocate nothing.
	first  [firstSize]T
	once   bool
	closed bool
	// deaf: readers are gone, items are dropped.
	deaf bool
}

// lock must be used instead of mu.Lock: it also readies the condition.
func (r *Ring[T]) lock() {
	r.mu.Lock()
	if !r.once {
		r.once = true
		r.filled.L = &r.mu
	}
}

// Put adds an item. It reports false if the item was dropped: the ring is closed, or its readers are gone. Only the
// former is a mistake of the writer; Closed distinguishes them.
func (r *Ring[T]) Put(item T) bool {
	r.lock()
	defer r.mu.Unlock()
	if r.closed || r.deaf {
		return false
	}
	if r.count == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.count)&(len(r.items)-1)] = item
	r.count++
	r.filled.Signal()
	return true
}

// grow doubles the room; its size is always a power of two.
func (r *Ring[T]) grow() {
	if r.items == nil {
		r.items = r.first[:]
		return
	}
	bigger := make([]T, 2*len(r.items))
	n := copy(bigger, r.items[r.head:])
	copy(bigger[n:], r.items[:r.head])
	clear(r.items)
	r.items, r.head = bigger, 0
}

// Take waits for the next item. It returns false once the ring is closed and empty.
func (r *Ring[T]) Take() (item T, ok bool) {
	r.lock()
	defer r.mu.Unlock()
	for r.count == 0 {
		if r.closed || r.deaf {
			return item, false
		}
		r.filled.Wait()
	}
	return r.take(), true
}

// TryTake is Take that does not wait: it returns false if there is no item now.
func (r *Ring[T]) TryTake() (item T, ok bool) {
	r.lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return item, false
	}
	return r.take(), true
}

// take removes the first item. There is one, and mu is held.
func (r *Ring[T]) take() (item T) {
	var none T
	item, r.items[r.head] = r.items[r.head], none
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.count--
	return item
}

// Close says that no more items come. What is in the ring can still be taken. Closing again does nothing.
func (r *Ring[T]) Close() {
	r.lock()
	defer r.mu.Unlock()
	r.closed = true
	r.filled.Broadcast()
}

// Closed reports whether Close was called.
func (r *Ring[T]) Closed() bool {
	r.lock()
	defer r.mu.Unlock()
	return r.closed
}

// Abandon says that items are not taken any more. It returns what was waiting; further items are dropped.
func (r *Ring[T]) Abandon() []T {
	r.lock()
	defer r.mu.Unlock()
	left := make([]T, 0, r.count)
	for i := range r.count {
		left = append(left, r.items[(r.head+i)&(len(r.items)-1)])
	}
	clear(r.items)
	r.items, r.head, r.count, r.deaf = nil, 0, 0, true
	r.filled.Broadcast()
	return left
}
