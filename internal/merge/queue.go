// Package merge makes one stream of several, in the order their items arrive.
//
// Package schema builds its merged readers of it.
// It must never let a silent source, or user code in a source, hold up the items of the others.
package merge

import (
	"io"
	"sync"

	"github.com/weftgo/weft/internal/pull"
)

// A Queue holds the sources that may have an item, in the order they got it, each at most once: asking the first and
// queueing it again behind the others gives every source its turn.
type Queue[T any] struct {
	onEnd func(name string) error

	mu     sync.Mutex // guards all fields below
	inputs []*input[T]
	ready  []*input[T] // a ring with room for every input
	first  int         // position in ready
	count  int         // number in ready
	open   int         // inputs that have not ended
	last   *input[T]   // gave the latest item and is not queued yet
	waker  pull.Waker
	closed bool
}

// An input is one source, and the waker it is asked with. Its flags are under the queue's mutex.
type input[T any] struct {
	queue  *Queue[T]
	src    pull.Source[T]
	name   string
	queued bool
	ending bool // it was closed from outside and has said so
	ended  bool
}

var _ pull.Source[int] = (*Queue[int])(nil)

// New merges srcs. With onEnd the end of each source is an item, too: the error that onEnd makes of its name, found
// at its place in names.
func New[T any](srcs []pull.Source[T], names []string, onEnd func(name string) error) *Queue[T] {
	q := &Queue[T]{onEnd: onEnd, open: len(srcs), count: len(srcs)}
	all := make([]input[T], len(srcs))
	refs := make([]*input[T], 2*len(srcs))
	q.inputs, q.ready = refs[:len(srcs):len(srcs)], refs[len(srcs):]
	for i, src := range srcs {
		if !src.Prompt() {
			src = newPump(src)
		}
		all[i] = input[T]{queue: q, src: src, queued: true}
		if i < len(names) {
			all[i].name = names[i]
		}
		q.inputs[i], q.ready[i] = &all[i], &all[i]
	}
	return q
}

// Poll takes the next item of any source, see [pull.Source].
func (q *Queue[T]) Poll(w pull.Waker) (item pull.Item[T], ok bool) {
	for {
		in, end := q.next(w)
		if in == nil {
			return pull.Item[T]{Err: end}, end != nil
		}
		if item, ok = in.poll(); !ok {
			continue
		}
		if item.Err != io.EOF {
			q.last = in
			return item, true
		}
		q.end(in)
		if q.onEnd != nil {
			return pull.Item[T]{Err: q.onEnd(in.name)}, true
		}
	}
}

// next returns the input whose turn it is. Without one, it returns why the stream ends, or leaves the waker.
func (q *Queue[T]) next(w pull.Waker) (in *input[T], end error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last != nil {
		q.enqueue(q.last)
		q.last = nil
	}
	switch {
	case q.closed:
		return nil, pull.ErrClosed
	case q.open == 0:
		return nil, io.EOF
	case q.count == 0:
		q.waker = w
		return nil, nil
	}
	in = q.ready[q.first]
	q.first = (q.first + 1) % len(q.ready)
	q.count--
	in.queued = false
	return in, nil
}

// enqueue puts in behind the others, with mu locked.
func (q *Queue[T]) enqueue(in *input[T]) {
	if in.queued || in.ended {
		return
	}
	in.queued = true
	q.ready[(q.first+q.count)%len(q.ready)] = in
	q.count++
}

// end takes in out of the stream. A wake that came late may have left it in the ring.
func (q *Queue[T]) end(in *input[T]) {
	q.mu.Lock()
	in.ended = true
	q.open--
	q.mu.Unlock()
	in.src.Close()
}

// Prompt reports true: user code runs in pumps.
func (q *Queue[T]) Prompt() bool { return true }

// Sources returns the sources that have not ended, for a queue that replaces this one.
func (q *Queue[T]) Sources() []pull.Source[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	var srcs []pull.Source[T]
	for _, in := range q.inputs {
		if !in.ended && !in.ending {
			srcs = append(srcs, in.src)
		}
	}
	return srcs
}

// Close closes every source, see [pull.Source].
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	waker := q.waker
	q.waker = nil
	q.mu.Unlock()
	for _, in := range q.inputs {
		in.src.Close()
	}
	if waker != nil {
		waker.Wake()
	}
}

// Producer returns the producers of all sources.
func (q *Queue[T]) Producer() pull.Closer {
	var all pull.Closers
	for _, in := range q.inputs {
		all = withProducer(all, in.src)
	}
	if all == nil {
		return nil
	}
	return all
}

func withProducer[T any](all pull.Closers, src pull.Source[T]) pull.Closers {
	if p := src.Producer(); p != nil {
		all = append(all, p)
	}
	return all
}

// poll asks the source. A source that someone else has closed says so once and ends.
func (in *input[T]) poll() (item pull.Item[T], ok bool) {
	switch {
	case in.ended:
		return item, false
	case in.ending:
		return pull.Item[T]{Err: io.EOF}, true
	}
	item, ok = in.src.Poll(in)
	in.ending = ok && item.Err == pull.ErrClosed
	return item, ok
}

// Wake queues the input.
func (in *input[T]) Wake() {
	q := in.queue
	q.mu.Lock()
	q.enqueue(in)
	waker := q.waker
	q.waker = nil
	q.mu.Unlock()
	if waker != nil {
		waker.Wake()
	}
}
