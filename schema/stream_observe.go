package schema

import (
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/internal/pull"
)

// Observe shows the items of a stream to functions while others read it, and takes sr over. sr is one of several copies
// ([StreamReader.Copy]), as callback handlers get them: the reader of another copy calls onChunk for each value, in the
// middle of its Recv, and onEnd once, so that no goroutine is needed. The functions must be quick, are never called at
// the same time, and see every item that sr had not yielded yet. They may be nil. A panic of one ends the observation and
// is caught.
//
// onEnd gets nil at the end of the stream, the error of the first error item, after which nothing is observed, or
// [ErrRecvAfterClosed] if all other copies were closed before the end. It has returned before a reader of another copy
// gets that item or the end, unless it takes longer than a second. It is not called if they are forgotten, neither read
// to the end nor closed. Observing keeps no stream open.
//
// A reader that has no other copies is read by Observe itself, in a goroutine where it has to wait.
func Observe[T any](sr *StreamReader[T], onChunk func(T), onEnd func(error)) {
	observe(sr, &observer[T]{onChunk: onChunk, onEnd: onEnd})
}

// ObserveBatches is [Observe] for what costs less for several values at once, such as what takes a lock or reads a clock:
// onChunks gets the values that are there, 1 to 32, in a slice that it must not keep.
func ObserveBatches[T any](sr *StreamReader[T], onChunks func([]T), onEnd func(error)) {
	observe(sr, &observer[T]{onChunks: onChunks, onEnd: onEnd, batch: make([]T, 0, observedBatch)})
}

// observedBatch is the number of values that [ObserveBatches] shows at a time.
const observedBatch = 32

func observe[T any](sr *StreamReader[T], o *observer[T]) {
	o.src, _ = sr.take()
	if pull.Watch(o.src, o.look) {
		o.look(false) // what has been read already
		return
	}
	if !o.drain() {
		go o.readAll()
	}
}

// observer shows the items of a source that it watches.
type observer[T any] struct {
	src      pull.Source[T]
	onChunk  func(T)
	onChunks func([]T) // instead of onChunk
	onEnd    func(error)
	// looks counts the calls of look that have not been answered. The goroutine that raises it from 0 does the work for
	// all.
	looks atomic.Int32
	// Of the goroutine that works: whether the observation has ended, and values that were not shown yet.
	done  bool
	batch []T
}

// look shows what there is. Several goroutines may call it; one of them works. At the end of the stream the others wait
// for it: what they do next may be the end of what is observed.
func (o *observer[T]) look(end bool) {
	if o.looks.Add(1) > 1 {
		if end {
			o.await()
		}
		return
	}
	for n := int32(1); n > 0; {
		n = o.looks.Load()
		o.drain()
		n = o.looks.Add(-n)
	}
}

// await waits until no goroutine works, or for a second: the goroutine that works may be this one, in a function of the
// observer that reads another copy.
func (o *observer[T]) await() {
	const yields, most = 100, time.Second
	for n := 0; n < yields && o.looks.Load() > 0; n++ { // mostly it has nothing left to do but this
		runtime.Gosched()
	}
	pause := time.Microsecond
	for waited := time.Duration(0); o.looks.Load() > 0 && waited < most; waited += pause {
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// drain shows what there is without waiting, and reports whether the stream is over.
func (o *observer[T]) drain() bool {
	for !o.done {
		item, ok := o.src.Poll(nil)
		if !ok {
			o.flush()
			return o.done
		}
		o.show(item)
	}
	return true
}

// readAll reads a stream that has no other reader.
func (o *observer[T]) readAll() {
	parker := pull.NewParker()
	for !o.drain() {
		o.show(pull.Wait(o.src, parker))
	}
}

// show calls the functions for one item, or adds it to the batch.
func (o *observer[T]) show(item pull.Item[T]) {
	switch {
	case item.Err != nil:
		o.flush()
		if !o.done {
			o.finish()
			o.call(func() { o.onEnd(endOf(item.Err)) }, o.onEnd != nil)
		}
	case o.onChunks != nil:
		if o.batch = append(o.batch, item.Value); len(o.batch) == cap(o.batch) {
			o.flush()
		}
	default:
		o.call(func() { o.onChunk(item.Value) }, o.onChunk != nil)
	}
}

// flush shows the values of the batch.
func (o *observer[T]) flush() {
	if len(o.batch) == 0 {
		return
	}
	o.call(func() { o.onChunks(o.batch) }, true)
	clear(o.batch)
	o.batch = o.batch[:0]
}

// call calls one of the functions, if there is one. A panic of it ends the observation, and so does the end of the
// goroutine: there is no one to report it to.
func (o *observer[T]) call(f func(), isSet bool) {
	if !isSet {
		return
	}
	finished := false
	defer func() {
		if !finished {
			_ = recover()
			o.finish()
		}
	}()
	f()
	finished = true
}

// endOf returns the error for onEnd of a stream whose last item has an error.
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
