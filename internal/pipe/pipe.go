// Package pipe is a bounded queue between the senders and the one consumer of a stream.
//
// Package schema makes its pipes of it and package merge the buffers of its pumps.
// It must never keep a sender waiting after the consumer has closed, nor lose an item that was accepted.
package pipe

import (
	"io"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/weftgo/weft/internal/pull"
)

// Who closed a pipe; it can be both.
const (
	closedByWriter uint32 = 1 << iota
	closedByReader
)

// A Pipe holds items in a ring. Items are counted from the beginning of the stream: those before head are taken, those
// before tail put in. Senders share a mutex; the consumer takes items without it, as the ring's only reader, and locks
// it only when the ring is empty.
//
// A sender puts its item into the ring first and then waits until the item is within the capacity. So the consumer
// finds the item of a waiting sender at hand, as with a channel, and capacity 0 needs no code of its own. Only one item
// hangs over the capacity like that; further senders queue up behind it. An item put in while the consumer's goroutine
// is parked on the pipe is handed to it: it counts as taken.
type Pipe[T any] struct {
	capacity int64
	ring     []pull.Item[T]
	closed   atomic.Uint32

	head   atomic.Int64 // written by the consumer alone, which owns the next two
	out    int          // place of head in the ring
	seen   int64        // the tail when the consumer looked last
	wanted atomic.Int64 // where head has to get for the sender whose item hangs over; 0 if there is none

	mu      sync.Mutex // guards what is not atomic below
	tail    int64
	in      int          // place of tail in the ring
	taken   int64        // items before this one are known to be taken, or were handed over
	hanging pull.Parker  // of the sender whose item hangs over, from the first one on
	queue   atomic.Int32 // senders that wait for their turn to put an item in
	turn    sync.Cond    // where they wait: no sender's item hangs over, or the pipe was closed
	waker   pull.Waker   // of the consumer that found the ring empty
	onGone  func()       // for the senders, once the consumer has closed
}

var _ pull.Source[int] = (*Pipe[int])(nil)

// New returns a pipe that buffers capacity items; with 0 each Send waits until its item is taken.
func New[T any](capacity int) *Pipe[T] {
	slots := capacity + 2 // one for the item of a waiting sender, one for an item handed over
	p := &Pipe[T]{capacity: int64(capacity), ring: make([]pull.Item[T], slots)}
	p.turn.L = &p.mu
	return p
}

// Send hands item to the consumer and waits for room. It reports true if the pipe is closed and the item dropped.
// Any number of goroutines may send.
func (p *Pipe[T]) Send(item pull.Item[T]) (closed bool) {
	p.mu.Lock()
	if p.tail-p.taken < p.capacity && p.waker == nil && p.closed.Load() == 0 { // no reader waits
		p.put(item)
		p.mu.Unlock()
		return false
	}
	p.awaitTurn()
	if p.closed.Load() != 0 {
		p.mu.Unlock()
		return true
	}
	p.put(item)
	waker := p.takeWaker()
	end, fits := p.tail, p.hasRoom(p.tail)
	if !fits {
		p.hangOver()
	}
	p.mu.Unlock()
	wake(waker) // it may take a lock that is held around Poll
	return !fits && p.awaitRoom(end)
}

// put adds item to the ring, with mu locked.
func (p *Pipe[T]) put(item pull.Item[T]) {
	p.ring[p.in] = item
	if p.in++; p.in == len(p.ring) {
		p.in = 0
	}
	p.tail++
}

// takeWaker returns, with mu locked, the waker of the consumer if that waits. A parked one is given all that is there.
func (p *Pipe[T]) takeWaker() pull.Waker {
	waker := p.waker
	p.waker = nil
	if parker, ok := waker.(pull.Parker); ok && parker != nil {
		p.taken = p.tail
	}
	return waker
}

// hasRoom reports, with mu locked, whether the items before end are within the capacity.
func (p *Pipe[T]) hasRoom(end int64) bool {
	if end-p.taken > p.capacity {
		p.taken = max(p.taken, p.head.Load())
	}
	return end-p.taken <= p.capacity
}

// awaitTurn waits, with mu locked, until no sender has an item that hangs over the capacity, or the pipe is closed.
func (p *Pipe[T]) awaitTurn() {
	if p.wanted.Load() == 0 {
		return
	}
	p.queue.Add(1) // before the look at wanted, which a sender that leaves resets before it looks at queue
	for p.wanted.Load() != 0 && p.closed.Load() == 0 {
		p.turn.Wait()
	}
	p.queue.Add(-1)
}

// hangOver readies, with mu locked, the wait of the sender whose item is now the last.
func (p *Pipe[T]) hangOver() {
	if p.hanging == nil {
		p.hanging = pull.NewParker()
	}
	p.wanted.Store(p.tail - p.capacity)
}

// awaitRoom waits until the item before end, which hangs over the capacity, is within it or the pipe is closed. It
// reports whether the item was dropped.
func (p *Pipe[T]) awaitRoom(end int64) (dropped bool) {
	for p.head.Load() < end-p.capacity && p.closed.Load() == 0 {
		p.hanging.Park()
	}
	p.wanted.Store(0)
	if p.queue.Load() > 0 {
		p.mu.Lock()
		p.turn.Broadcast()
		p.mu.Unlock()
	}
	return p.closed.Load()&closedByReader != 0 && p.head.Load() < end
}

// Take takes an item that is known to be there, without asking the senders.
func (p *Pipe[T]) Take() (item pull.Item[T], ok bool) {
	head := p.head.Load()
	if head == p.seen || p.closed.Load()&closedByReader != 0 {
		return item, false
	}
	item = p.next()
	p.advance(head, head+1)
	return item, true
}

// Poll takes the next item, see [pull.Source].
func (p *Pipe[T]) Poll(w pull.Waker) (item pull.Item[T], ok bool) {
	if item, ok = p.Take(); ok {
		return item, true
	}
	if end := p.look(w); end != nil {
		return pull.Item[T]{Err: end}, true
	}
	if item, ok = p.Take(); !ok && p.head.Load() != p.seen { // the reader has been closed meanwhile
		return pull.Item[T]{Err: pull.ErrClosed}, true
	}
	return item, ok
}

// next empties the slot at head.
func (p *Pipe[T]) next() pull.Item[T] {
	slot := &p.ring[p.out]
	item := *slot
	*slot = pull.Item[T]{}
	if p.out++; p.out == len(p.ring) {
		p.out = 0
	}
	return item
}

// advance moves head from one place to another and wakes the sender that waits for one between them.
func (p *Pipe[T]) advance(from, to int64) {
	p.head.Store(to)
	if wanted := p.wanted.Load(); from < wanted && wanted <= to {
		p.hanging.Wake()
	}
}

// look finds out whether items have been put in since the last look. If not, it returns why none will be, or leaves the
// waker with the senders.
func (p *Pipe[T]) look(w pull.Waker) (end error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	closed := p.closed.Load()
	switch {
	case closed&closedByReader != 0:
		return pull.ErrClosed
	case p.tail != p.seen:
		p.seen = p.tail
	case closed&closedByWriter != 0:
		return io.EOF
	default:
		p.waker = w
	}
	return nil
}

// Prompt reports true: no user code runs in a pipe.
func (p *Pipe[T]) Prompt() bool { return true }

// Producer refers to the pipe weakly: existing senders keep it, and without any there is no one to notify.
func (p *Pipe[T]) Producer() pull.Closer { return senders[T]{weak.Make(p)} }

type senders[T any] struct{ pipe weak.Pointer[Pipe[T]] }

// Close closes the pipe for its reader.
func (s senders[T]) Close() {
	if p := s.pipe.Value(); p != nil {
		p.Close()
	}
}

// Drain takes the items that are known to be there, half the capacity at most, see [pull.Leaf]. A sender that waits for
// room learns of them all at once.
func (p *Pipe[T]) Drain(to pull.Sink[T]) {
	head := p.head.Load()
	n := min(p.seen-head, p.capacity/2)
	if n <= 0 || p.closed.Load()&closedByReader != 0 {
		return
	}
	for range n {
		to.Put(p.next())
	}
	p.advance(head, head+n)
}

// CloseWrite ends the stream after the items that were accepted. It may be called by any goroutine and repeatedly.
func (p *Pipe[T]) CloseWrite() { p.close(closedByWriter) }

// Close wakes the senders, as the reader is gone, see [pull.Source].
func (p *Pipe[T]) Close() { p.close(closedByReader) }

func (p *Pipe[T]) close(by uint32) {
	p.mu.Lock()
	p.closed.Or(by)
	p.turn.Broadcast()
	if p.wanted.Load() != 0 {
		p.hanging.Wake()
	}
	waker := p.waker
	p.waker = nil
	var gone func()
	if by == closedByReader {
		gone, p.onGone = p.onGone, nil
	}
	p.mu.Unlock()
	wake(waker)
	if gone != nil {
		gone()
	}
}

// OnReaderClose has f called once when the consumer closes, in the goroutine that closes, or at once if it has closed.
// It replaces an earlier f; nil takes it away.
func (p *Pipe[T]) OnReaderClose(f func()) {
	p.mu.Lock()
	closed := p.closed.Load()&closedByReader != 0
	if !closed {
		p.onGone = f
	}
	p.mu.Unlock()
	if closed && f != nil {
		f()
	}
}

func wake(w pull.Waker) {
	if w != nil {
		w.Wake()
	}
}
