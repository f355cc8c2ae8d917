// Package pull is the contract between the stages of a stream: how one stage asks the stage before it for an item
// without waiting, and how it learns that asking again is worth while.
//
// The stream kinds (pipe, broadcast log, merge queue, and the converters of package schema) implement [Source]; only
// the reader at the very end waits, on a [Parker], so that waiting, waking, closing and cancelling exist once.
// It must never start a goroutine or hold an item.
package pull

import "errors"

// ErrClosed is the item a closed source answers with, however often it is asked. It never leaves the library: a
// reader translates it, so an error item of a user cannot be mistaken for it.
var ErrClosed = errors.New("stream source is closed")

// Item is an element of a stream: a value, an error, or both. An item whose Err is io.EOF itself is the end.
type Item[T any] struct {
	Value T
	Err   error
}

// A Source is a stage of a stream that items are taken from. It has one consumer at a time.
type Source[T any] interface {
	// Poll takes the next item if there is one. With ok false there is none yet, and w is woken once when it is worth
	// asking again. Only the waker of the latest call is kept; with nil no one is woken. Poll never waits, except for the
	// user's code that some stages run (see Prompt), and never panics.
	Poll(w Waker) (item Item[T], ok bool)
	// Prompt reports that Poll runs no user code, here or in a stage before, and so returns at once.
	Prompt() bool
	// Close gives the source up, notifies its producer and wakes its waiters. It may be called by any goroutine, at any
	// time and repeatedly; afterwards Poll answers ErrClosed.
	Close()
	// Producer returns what is to be closed, for the producer's sake, when the stage is unreachable; nil if there is no
	// producer to notify. It must not keep code of users alive: a cleanup keeps it, and that code may refer to the very
	// reader that the cleanup is for, which would then never become unreachable.
	Producer() Closer
}

// Watchable is a source that several consumers share, or a stage after one.
type Watchable interface {
	// Watch has look called whenever another consumer has taken an item, reached the end, or been the last to close the
	// source, by the goroutine that did. From then on Poll takes what others have taken already, and never asks the
	// producer. It reports false, and changes nothing, if there are no other consumers. end says that what the consumer has
	// taken is the end or an error: it waits for look before it hands that on.
	Watch(look func(end bool)) bool
}

// Watch is the Watch of a source, false if it has none.
func Watch[T any](src Source[T], look func(end bool)) bool {
	w, ok := src.(Watchable)
	return ok && w.Watch(look)
}

// A Closer is what can be closed, by any goroutine and repeatedly.
type Closer interface{ Close() }

// CloseUnreachable is the function that runtime.AddCleanup is given for a producer. It is not generic, and so needs no
// closure.
func CloseUnreachable(producer Closer) { producer.Close() }

// Closers are several producers.
type Closers []Closer

// Close closes them all.
func (c Closers) Close() {
	for _, closer := range c {
		closer.Close()
	}
}

// A Leaf is a source without a stage before it that locks nothing but itself in Poll and calls wakers without a lock.
// So it may be polled under a lock that Wake takes, and be emptied at once.
type Leaf[T any] interface {
	// Drain puts the items that are at hand into to, but no more than may be taken before they are asked for. It is for
	// the consumer alone.
	Drain(to Sink[T])
}

// A Sink takes items.
type Sink[T any] interface{ Put(item Item[T]) }
