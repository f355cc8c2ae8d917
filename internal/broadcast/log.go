// Package broadcast lets any number of readers see every item of one source, each at its own speed.
//
// Package schema makes the copies of a stream of it: each copy is a [Cursor] on one log.
// It must never read the source ahead of the fastest reader, except for what a leaf has ready, nor keep an item that
// every reader has passed.
package broadcast

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/internal/pull"
)

// errAborted stands for an item whose making ended the goroutine that asked for it (runtime.Goexit).
var errAborted = errors.New("stream source was aborted while another reader fetched from it")

// Sizes of the blocks of a log, doubling: short streams are cheap, long ones cost few allocations.
const (
	firstBlock = 4
	lastBlock  = 64
)

// A log holds what was taken from a source in a list of blocks. It refers to the last block only and each cursor to
// the one it is in, so what all cursors have passed is collected.
type log[T any] struct {
	src  pull.Source[T]
	leaf pull.Leaf[T] // src, if it can be asked under queue.mu
	*queue
	// watchers are called when a cursor has got on. The slice is replaced, under queue.mu, and never written.
	watchers atomic.Pointer[[]func(end bool)]

	tail     *block[T] // under queue.mu, as the rest
	used     int       // items in tail
	fetching bool      // a cursor is asking the source
	ended    bool      // no item will follow
	cut      error     // stands for the end that CutOff has made, nil if it has not been called
	cleanup  bool      // the source is closed when the log is unreachable
}

// A block is filled front to back by the fetching cursor; items before n are never written again.
type block[T any] struct {
	n     atomic.Int32
	next  atomic.Pointer[block[T]]
	items []T
	// errs are the errors of the items, nil while there is none: it would triple the size of a block of pointers.
	errs atomic.Pointer[[]error]
}

func newBlock[T any](size int) *block[T] { return &block[T]{items: make([]T, size)} }

// newFirstBlock makes the block that most short streams need, with its items in it.
func newFirstBlock[T any]() *block[T] {
	b := &struct {
		block[T]
		room [firstBlock]T
	}{}
	b.items = b.room[:]
	return &b.block
}

// put writes item i. It is seen by others once n is beyond i.
func (b *block[T]) put(i int, item pull.Item[T]) {
	b.items[i] = item.Value
	if item.Err == nil {
		return
	}
	errs := b.errs.Load()
	if errs == nil {
		made := make([]error, len(b.items))
		errs = &made
		b.errs.Store(errs)
	}
	(*errs)[i] = item.Err
}

func (b *block[T]) get(i int) pull.Item[T] {
	item := pull.Item[T]{Value: b.items[i]}
	if errs := b.errs.Load(); errs != nil {
		item.Err = (*errs)[i]
	}
	return item
}

// fetch asks the source once and publishes what it has. If it has nothing it will wake the queue. The caller has set
// fetching and holds no lock.
func (l *log[T]) fetch() {
	item, ok, aborted := pull.Item[T]{Err: errAborted}, true, true
	defer func() {
		l.mu.Lock()
		l.fetching = false
		if ok {
			l.publish(item)
			l.ended = l.ended || aborted
		}
		if ok || l.woken { // the fetching cursor may have been closed and not ask again
			l.wakeAll()
		}
		l.mu.Unlock()
	}()
	item, ok = l.src.Poll(l.queue)
	aborted = false
}

// look calls who watches. It must be called without a lock.
func (l *log[T]) look(end bool) {
	if watchers := l.watchers.Load(); watchers != nil {
		for _, look := range *watchers {
			look(end)
		}
	}
}

// take asks a leaf, with mu locked, and publishes what it has. If it has nothing it will wake the queue.
func (l *log[T]) take() bool {
	item, ok := l.src.Poll(l.queue)
	if !ok {
		return false
	}
	l.Put(item)
	if !l.ended {
		l.leaf.Drain(l)
	}
	l.show()
	l.wakeAll()
	return true
}

// publish appends item, with mu locked, and shows it to the cursors.
func (l *log[T]) publish(item pull.Item[T]) {
	l.Put(item)
	l.show()
}

// show lets the cursors see what was appended, with mu locked.
func (l *log[T]) show() { l.tail.n.Store(int32(l.used)) }

// Put appends item, with mu locked. The item of a closed source is its last one.
func (l *log[T]) Put(item pull.Item[T]) {
	if item.Err == io.EOF {
		l.ended = true
		return
	}
	if l.ended = item.Err == pull.ErrClosed; l.ended && l.cut != nil {
		item.Err = l.cut
	}
	if l.used == len(l.tail.items) {
		l.show()
		next := newBlock[T](min(2*l.used, lastBlock))
		l.tail.next.Store(next)
		l.tail, l.used = next, 0
	}
	l.tail.put(l.used, item)
	l.used++
}

// A queue is where cursors wait and are counted. The source keeps it as its waker, and seats refer to it; it does not
// refer to the log, so that neither a live producer nor a cleanup keeps a log alive that has no reader.
type queue struct {
	mu       sync.Mutex
	list     []*place
	woken    bool        // the source has called since it was asked last
	open     int         // cursors not closed that do not watch
	producer pull.Closer // of the source, once there are seats
}

// A seat stands for a cursor that may become unreachable. It does not refer to the cursor, or the log.
type seat struct {
	queue *queue
	left  bool // under queue.mu: the cursor was closed
}

// Close says that the cursor is gone. The last one to go notifies the producer.
func (s *seat) Close() {
	q := s.queue
	q.mu.Lock()
	last := !s.left && q.open == 1
	if !s.left {
		s.left = true
		q.open--
	}
	q.mu.Unlock()
	if last {
		q.producer.Close()
	}
}

// A place is where a cursor leaves its waker.
type place struct {
	waker  pull.Waker
	listed bool
}

// Wake is called by the source when it is worth asking again.
func (q *queue) Wake() {
	q.mu.Lock()
	q.woken = true
	q.wakeAll()
	q.mu.Unlock()
}

// wakeAll wakes every cursor that waits, with mu locked: one alone may have gone away and not ask the source.
func (q *queue) wakeAll() {
	for i, p := range q.list {
		p.waker.Wake()
		p.listed, p.waker, q.list[i] = false, nil, nil
	}
	q.list = q.list[:0]
}

// enter lists p, with mu locked, or takes it out if there is no waker.
func (q *queue) enter(p *place, w pull.Waker) {
	if w == nil {
		q.leave(p)
		return
	}
	p.waker = w
	if !p.listed {
		p.listed = true
		q.list = append(q.list, p)
	}
}

func (q *queue) leave(p *place) {
	if p.listed {
		q.list = slices.DeleteFunc(q.list, func(other *place) bool { return other == p })
	}
	p.listed, p.waker = false, nil
}
