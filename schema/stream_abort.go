package schema

import (
	"io"
	"sync"

	"github.com/weftgo/weft/internal/pull"
)

// StreamReaderWithAbort returns a reader that yields what sr does, takes sr over, and returns a function that cuts the
// stream off: a reader that waits for an item, or asks for the next one, gets err, and then io.EOF; sr is closed. abort
// may be called by any goroutine, does not block, and has no effect after the end of the stream or the second time.
func StreamReaderWithAbort[T any](sr *StreamReader[T]) (reader *StreamReader[T], abort func(err error)) {
	src, auto := sr.take()
	a := &abortable[T]{src: src}
	if leaf, ok := src.(pull.Leaf[T]); ok {
		reader = newReader[T](abortableLeaf[T]{a, leaf})
	} else {
		reader = newReader[T](a)
	}
	if auto {
		reader.SetAutomaticClose()
	}
	return reader, a.abort
}

// abortable is the stage of a stream that can be cut off.
type abortable[T any] struct {
	src pull.Source[T]

	mu    sync.Mutex
	waker pull.Waker // of the consumer that found nothing
	cut   error
	ended bool
}

func (a *abortable[T]) Poll(w pull.Waker) (item pull.Item[T], ok bool) {
	if item, over := a.over(w); over {
		return item, true
	}
	item, ok = a.src.Poll(w)
	if !ok || item.Err != nil && item.Err != io.EOF { // it may have been cut off meanwhile, and fail because of that
		if end, over := a.over(w); over || !ok {
			return end, over
		}
	}
	if item.Err == io.EOF {
		a.mu.Lock()
		a.ended, a.waker = true, nil
		a.mu.Unlock()
	}
	return item, ok
}

// over returns the end of the stream if that has come, and otherwise keeps the waker.
func (a *abortable[T]) over(w pull.Waker) (item pull.Item[T], over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return pull.Item[T]{Err: io.EOF}, true
	case a.cut != nil:
		a.ended = true
		return pull.Item[T]{Err: a.cut}, true
	}
	a.waker = w
	return item, false
}

func (a *abortable[T]) abort(err error) {
	a.mu.Lock()
	if a.ended || a.cut != nil || err == nil {
		a.mu.Unlock()
		return
	}
	a.cut = err
	waker := a.waker
	a.waker = nil
	a.mu.Unlock()
	a.src.Close()
	if waker != nil {
		waker.Wake()
	}
}

// abortableLeaf is the stage after a leaf: it can be asked like one.
type abortableLeaf[T any] struct {
	*abortable[T]
	leaf pull.Leaf[T]
}

// Drain leaves what is at hand to Poll once the stream has been cut off.
func (a abortableLeaf[T]) Drain(to pull.Sink[T]) {
	a.mu.Lock()
	over := a.ended || a.cut != nil
	a.mu.Unlock()
	if !over {
		a.leaf.Drain(to)
	}
}

func (a *abortable[T]) Prompt() bool { return a.src.Prompt() }

// Watch watches the stage before, see [pull.Watchable].
func (a *abortable[T]) Watch(look func(end bool)) bool { return pull.Watch(a.src, look) }

func (a *abortable[T]) Close() { a.src.Close() }

func (a *abortable[T]) Producer() pull.Closer { return a.src.Producer() }
