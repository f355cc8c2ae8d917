package schema

import (
	"io"
	"sync/atomic"

	"github.com/weftgo/weft/internal/pull"
)

// Observe shows the items of a stream to functions while others read it, and takes sr over. sr is one of several copies
// ([StreamReader.Copy]), as callback handlers get them: the reader of another copy calls onChunk for each value, in the
// middle of its Recv, and onEnd once, so that no goroutine is needed. The functions must be quick, are never called at
// the same time, and see every item that sr had not yielded yet. They may be nil. A panic of one ends the observation
// and harms nobody.
//
// onEnd gets nil at the end of the stream, the error of the first error item, after which nothing is observed, or
// [ErrRecvAfterClosed] if all other copies were closed before the end. It is not called if they are forgotten, neither
// read to the end nor closed. Observing keeps no stream open.
//
// A reader that has no other copies is read by Observe itself, in a goroutine where it has to wait.
func Observe[T any](sr *StreamReader[T], onChunk func(T), onEnd func(error)) {
	src, _ := sr.take()
	o := &observer[T]{src: src, onChunk: onChunk, onEnd: onEnd}
	if pull.Watch(src, o.look) {
		o.look() // what has been read already
		return
	}
	if !o.drain() {
		go o.readAll()
	}
}

// observer shows the items of a source that it watches.
type observer[T any] struct {
	src     pull.Source[T]
	onChunk func(T)
	onEnd   func(error)
	// looks counts the calls of look that have not been answered. The goroutine that raises it from 0 does the work for
	// all.
	looks atomic.Int32
	done  bool // of the goroutine that works
}

// look shows what there is. Several goroutines may call it; one of them works.
func (o *observer[T]) look() {
	if o.looks.Add(1) > 1 {
		return
	}
	for n := int32(1); n > 0; {
		n = o.looks.Load()
		o.drain()
		n = o.looks.Add(-n)
	}
}

// drain shows what there is without waiting, and reports whether the stream is over.
func (o *observer[T]) drain() bool {
	for !o.done {
		item, ok := o.src.Poll(nil)
		if !ok {
			return false
		}
		o.show(item)
	}
	return true
}

// readAll reads a stream that nobody else does.
func (o *observer[T]) readAll() {
	parker := pull.NewParker()
	for !o.done {
		o.show(pull.Wait(o.src, parker))
	}
}

// show calls the functions for one item.
func (o *observer[T]) show(item pull.Item[T]) {
	finished := false
	defer func() {
		if !finished { // a panic, or the end of the goroutine: there is nobody to report it to
			_ = recover()
			o.finish()
		}
	}()
	switch {
	case item.Err == nil:
		if o.onChunk != nil {
			o.onChunk(item.Value)
		}
	default:
		o.finish()
		if o.onEnd != nil {
			o.onEnd(endOf(item.Err))
		}
	}
	finished = true
}

// endOf is how a stream ended whose last item has an error.
func endOf(err error) error {
	switch err {
	case io.EOF:
		return nil
	case pull.ErrClosed:
		return ErrRecvAfterClosed
	}
	return err
}

// finish ends the observation.
func (o *observer[T]) finish() {
	o.done = true
	o.src.Close()
}
