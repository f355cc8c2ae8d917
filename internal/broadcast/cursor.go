package broadcast

import (
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/internal/pull"
)

// A Cursor reads a log from its position on. Poll and Clone belong to one goroutine at a time, Close to any.
type Cursor[T any] struct {
	log   *log[T]
	at    atomic.Pointer[block[T]] // nil once closed
	i     int                      // next item of at
	place place                    // under log.mu, like seat and watching
	seat  *seat                    // made when it is asked for
	// watching: the cursor takes what the others have taken, and does not count as one of them.
	watching bool
}

var _ pull.Source[int] = (*Cursor[int])(nil)

// New returns a cursor at the next item of src, which it takes over.
func New[T any](src pull.Source[T]) *Cursor[T] {
	first := newFirstBlock[T]()
	leaf, _ := src.(pull.Leaf[T])
	c := &Cursor[T]{log: &log[T]{src: src, queue: &queue{open: 1}, leaf: leaf, tail: first}}
	c.at.Store(first)
	return c
}

// Clone returns another cursor at the same position of the same log.
func (c *Cursor[T]) Clone() *Cursor[T] {
	clone := &Cursor[T]{log: c.log, i: c.i}
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if at := c.at.Load(); at != nil {
		clone.at.Store(at)
		c.log.open++
	}
	return clone
}

// Poll takes the next item, from the log or else from the source, see [pull.Source].
func (c *Cursor[T]) Poll(w pull.Waker) (item pull.Item[T], ok bool) {
	fetched := false
	for {
		at := c.at.Load()
		if at == nil {
			return pull.Item[T]{Err: pull.ErrClosed}, true
		}
		if c.i < int(at.n.Load()) {
			item = at.get(c.i)
			c.i++
			c.passedOn(item.Err != nil)
			return item, true
		}
		if next := at.next.Load(); next != nil && c.i == len(at.items) {
			c.at.CompareAndSwap(at, next) // unless closed meanwhile
			c.i = 0
			continue
		}
		switch c.decide(at, w, fetched) {
		case end:
			c.passedOn(true)
			return pull.Item[T]{Err: io.EOF}, true
		case abandoned:
			return pull.Item[T]{Err: pull.ErrClosed}, true
		case wait:
			return item, false
		case fetch:
			c.log.fetch()
			fetched = true
		}
	}
}

// passedOn calls who watches, after an item was taken, or the end.
func (c *Cursor[T]) passedOn(end bool) {
	if watchers := c.log.watchers.Load(); watchers != nil && !c.watching {
		c.log.look(end)
	}
}

// What a cursor at the end of the log does.
type step int

const (
	look step = iota // again: something has changed
	end
	wait
	fetch
	abandoned // the cursor watches, and all others were closed
)

// decide finds out what to do at the end of the log, in block at. After a fetch of its own that brought nothing the
// cursor waits, unless the source has called meanwhile.
func (c *Cursor[T]) decide(at *block[T], w pull.Waker, fetched bool) step {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.at.Load() == nil, c.i < int(at.n.Load()), at.next.Load() != nil:
		return look
	case l.ended:
		return end
	case c.watching && l.open == 0:
		return abandoned
	case c.watching:
		return wait
	case l.fetching, fetched && !l.woken:
		l.enter(&c.place, w)
		return wait
	case l.leaf != nil:
		if l.take() {
			return look
		}
		l.enter(&c.place, w)
		return wait
	}
	l.fetching, l.woken = true, false
	return fetch
}

// Prompt reports whether the source is prompt. Who watches may be slow.
func (c *Cursor[T]) Prompt() bool { return c.log.watchers.Load() == nil && c.log.src.Prompt() }

// Watch makes the cursor one that watches the others, see [pull.Watchable].
func (c *Cursor[T]) Watch(look func(end bool)) bool {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.watching || c.at.Load() == nil || l.open < 2 && !l.ended {
		return false
	}
	c.watching = true
	l.open--
	if c.seat != nil {
		c.seat.left = true
	}
	l.leave(&c.place)
	all := []func(bool){look}
	if before := l.watchers.Load(); before != nil {
		all = append(slices.Clip(*before), look)
	}
	l.watchers.Store(&all)
	return true
}

// CloseLogWhenUnreachable has the source closed once no cursor of the log can be reached any more, closed or not.
func (c *Cursor[T]) CloseLogWhenUnreachable() {
	l := c.log
	producer := l.src.Producer()
	l.mu.Lock()
	defer l.mu.Unlock()
	if producer != nil && !l.cleanup {
		l.cleanup = true
		runtime.AddCleanup(l, pull.CloseUnreachable, producer)
	}
}

// Producer is the cursor's seat: the producer is notified when the last cursor has gone.
func (c *Cursor[T]) Producer() pull.Closer {
	l := c.log
	producer := l.src.Producer() // without the lock: a source may wake the queue with its own locked
	if producer == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.producer = producer
	if c.seat == nil {
		c.seat = &seat{queue: l.queue, left: c.at.Load() == nil}
	}
	return c.seat
}

// CutOff ends the log for all its cursors: each reads what the source had ready, then err, and then the end. The source
// is closed. It may be called by any goroutine; after the end of the source it has no effect.
func (c *Cursor[T]) CutOff(err error) {
	l := c.log
	l.mu.Lock()
	if l.ended || l.cut != nil {
		l.mu.Unlock()
		return
	}
	l.cut = err
	for l.leaf != nil && !l.ended {
		item, ok := l.src.Poll(nil)
		if !ok {
			break
		}
		l.publish(item)
	}
	l.mu.Unlock()
	l.src.Close()
	l.Wake()
}

// Close drops the cursor, and the source with the last one, see [pull.Source].
func (c *Cursor[T]) Close() {
	if c.at.Swap(nil) == nil {
		return
	}
	l := c.log
	l.mu.Lock()
	if c.seat != nil {
		c.seat.left = true
	}
	if !c.watching {
		l.open--
	}
	last := l.open == 0 && !c.watching
	if c.place.waker != nil {
		c.place.waker.Wake()
	}
	l.leave(&c.place)
	l.mu.Unlock()
	if last {
		l.src.Close()
		l.look(true)
	}
}
