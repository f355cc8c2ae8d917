package adk

import (
	"iter"

	"github.com/weftgo/weft/internal/eventring"
)

// AsyncIterator reads what a run produces. It is unbounded: the run never waits for its reader. It is safe for
// concurrent use; each item goes to one caller.
type AsyncIterator[T any] struct {
	ring *eventring.Ring[T]
	// lazy is the run, if it begins only when it is read.
	lazy lazyRun[T]
}

// A lazyRun is a run that begins when it is read. See loopRun.
type lazyRun[T any] interface {
	begin()
	refuse()
	readAll(yield func(T) bool) bool
	notice()
}

// Next waits for the next item. It returns false when everything was delivered and nothing more comes.
func (ai *AsyncIterator[T]) Next() (T, bool) {
	if ai == nil || ai.ring == nil {
		var none T
		return none, false
	}
	if ai.lazy != nil {
		ai.lazy.begin()
	}
	return ai.ring.Take()
}

// All returns an iterator over the items for a range loop. A loop that ends early closes the AsyncIterator.
func (ai *AsyncIterator[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		if ai != nil && ai.lazy != nil && ai.lazy.readAll(yield) {
			return
		}
		defer ai.Close()
		for {
			item, ok := ai.Next()
			if !ok || !yield(item) {
				return
			}
		}
	}
}

// Close ends the reading: what is waiting is dropped, streams in it are closed, a waiting Next returns false. The run
// continues to its end. Closing is optional and may be repeated.
func (ai *AsyncIterator[T]) Close() {
	if ai == nil || ai.ring == nil {
		return
	}
	if ai.lazy != nil {
		ai.lazy.refuse()
	}
	for _, item := range ai.ring.Abandon() {
		discard(item)
	}
}

// discard closes the streams of an item that will not be read.
func discard[T any](item T) {
	if s, ok := any(item).(interface{ closeStreams() }); ok {
		s.closeStreams()
	}
}

// MarshalJSON encodes an iterator as {}: it travels in callback payloads, which trace handlers encode.
func (ai *AsyncIterator[T]) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// AsyncGenerator writes what an [AsyncIterator] reads.
type AsyncGenerator[T any] struct {
	ring *eventring.Ring[T]
}

// Send adds an item. It never waits. It panics after Close. If the iterator was closed, the item is dropped.
func (ag *AsyncGenerator[T]) Send(v T) {
	if ag.ring.Put(v) {
		return
	}
	if ag.ring.Closed() {
		panic("send on closed channel")
	}
	discard(v)
}

// Close says that no more items come. It may be repeated.
func (ag *AsyncGenerator[T]) Close() { ag.ring.Close() }

// NewAsyncIteratorPair makes the two ends of a queue.
func NewAsyncIteratorPair[T any]() (*AsyncIterator[T], *AsyncGenerator[T]) {
	pair := &struct {
		ring      eventring.Ring[T]
		iterator  AsyncIterator[T]
		generator AsyncGenerator[T]
	}{}
	pair.iterator.ring, pair.generator.ring = &pair.ring, &pair.ring
	return &pair.iterator, &pair.generator
}
