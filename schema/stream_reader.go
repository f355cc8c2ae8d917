package schema

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/weftgo/weft/internal/broadcast"
	"github.com/weftgo/weft/internal/pipe"
	"github.com/weftgo/weft/internal/pull"
)

// ErrRecvAfterClosed is returned by [StreamReader.Recv] once the reader was closed by its consumer.
var ErrRecvAfterClosed = errors.New("recv after stream closed")

var (
	errNilReader  = errors.New("stream reader is nil")
	errHandedOver = errors.New("stream reader was handed over to Copy, Merge or Convert")
)

// The states of a reader.
const (
	readerOpen int32 = iota
	readerClosed
	readerHandedOver
	readerSaidSo // handed over, and a Recv has returned the error
)

// A StreamReader is the receiving end of a stream of items, made by [Pipe], [StreamReaderFromArray],
// [StreamReader.Copy], [MergeStreamReaders] or [StreamReaderWithConvert].
//
// It has one consumer: Recv, RecvContext, All, Copy and SetAutomaticClose must not run at the same time. Close may be
// called by any goroutine at any time, repeatedly, and must be called when the reader is done with, also after io.EOF.
// Copy, merge and convert take the reader over: it must not be read any more, only its successors.
//
// The zero value is an empty stream.
type StreamReader[T any] struct {
	rest   []T             // what is left to read, if src is nil
	src    pull.Source[T]  // nil: the reader was made from an array
	pipe   *pipe.Pipe[T]   // src, if it is one
	first  func(T) T       // what is done to the first value, nil after that
	parker pull.Parker     // made when the reader waits for the first time
	auto   runtime.Cleanup // set by SetAutomaticClose, if closes
	closes bool
	state  atomic.Int32
}

func newReader[T any](src pull.Source[T]) *StreamReader[T] {
	p, _ := src.(*pipe.Pipe[T])
	return &StreamReader[T]{src: src, pipe: p}
}

// Recv returns the next item and waits for it. An item is a value, an error, or both. The end of the stream is io.EOF
// itself (compare with ==), returned again by every further Recv; any other error is an item like others, and the
// caller may continue reading.
//
// After Close, Recv returns [ErrRecvAfterClosed], also a Recv that is waiting already. A reader made from an array
// is lenient: it can be read after Close.
func (sr *StreamReader[T]) Recv() (T, error) {
	if sr != nil && sr.pipe != nil && sr.first == nil && sr.state.Load() == readerOpen {
		if item, ok := sr.pipe.Take(); ok {
			return item.Value, item.Err
		}
	}
	return sr.recv(noContext)
}

// RecvContext is [StreamReader.Recv] that gives up waiting when ctx ends. The error then wraps ctx.Err() and the
// cause of ctx, no item is lost, and the reader can be read on. User code on the way (a convert function) is not
// interrupted.
func (sr *StreamReader[T]) RecvContext(ctx context.Context) (T, error) {
	if ctx.Err() != nil {
		var zero T
		return zero, interrupted(ctx)
	}
	return sr.recv(ctx)
}

// noContext is for waiting as long as it takes.
var noContext context.Context

func (sr *StreamReader[T]) recv(ctx context.Context) (T, error) {
	var zero T
	if sr == nil {
		return zero, errNilReader
	}
	if sr.src == nil {
		return sr.recvArray()
	}
	for sr.state.Load() == readerOpen {
		item, ok := sr.poll(sr.waker())
		if !ok && sr.wait(ctx) {
			continue
		}
		if !ok { // ctx has ended: take the waker back, unless an item came at the same time
			item, ok = sr.src.Poll(nil)
		}
		switch {
		case !ok:
			return zero, interrupted(ctx)
		case item.Err == pull.ErrClosed:
			return zero, ErrRecvAfterClosed
		case sr.first != nil:
			item = sr.applyFirst(item)
		}
		return item.Value, item.Err
	}
	return zero, sr.refusal()
}

// poll asks the source, a pipe without the detour of an interface call on a generic type.
func (sr *StreamReader[T]) poll(w pull.Waker) (pull.Item[T], bool) {
	if sr.pipe != nil {
		return sr.pipe.Poll(w)
	}
	return sr.src.Poll(w)
}

func (sr *StreamReader[T]) waker() pull.Waker {
	if sr.parker == nil {
		return nil
	}
	return sr.parker
}

// wait parks until the source may have an item and reports false if ctx ends before. The first time it only makes the
// parker that the source has to know.
func (sr *StreamReader[T]) wait(ctx context.Context) bool {
	switch {
	case sr.parker == nil:
		sr.parker = pull.NewParker()
		return true
	case ctx != nil:
		return sr.parker.ParkContext(ctx)
	}
	sr.parker.Park()
	return true
}

func (sr *StreamReader[T]) recvArray() (item T, err error) {
	if len(sr.rest) == 0 {
		return item, io.EOF
	}
	item, sr.rest = sr.rest[0], sr.rest[1:]
	return item, nil
}

// refusal returns the error of Recv on a reader that is not open: a closed one always the same, one that was handed over
// an error and then the end.
func (sr *StreamReader[T]) refusal() error {
	switch {
	case sr.state.Load() == readerClosed:
		return ErrRecvAfterClosed
	case sr.state.CompareAndSwap(readerHandedOver, readerSaidSo):
		return errHandedOver
	}
	return io.EOF
}

func interrupted(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == cause {
		return fmt.Errorf("wait for stream item: %w", err)
	}
	return fmt.Errorf("wait for stream item: %w: %w", err, cause)
}

// All returns an iterator over the items until the end of the stream. Error items are yielded like others, with
// their value. The reader is closed when the loop ends, however it ends.
func (sr *StreamReader[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		defer sr.Close()
		for {
			item, err := sr.Recv()
			if err == io.EOF || !yield(item, err) || sr == nil || sr.state.Load() == readerClosed {
				return
			}
		}
	}
}

// Close gives the stream up: its producer is notified, a waiting Recv is woken. Closing again does nothing. On a reader
// that was handed over to Copy, Merge or Convert it closes the source under its successors.
func (sr *StreamReader[T]) Close() {
	if sr == nil || sr.src == nil {
		return
	}
	sr.state.CompareAndSwap(readerOpen, readerClosed)
	sr.auto.Stop()
	sr.src.Close()
}

// SetAutomaticClose has the source of the stream closed when the reader becomes unreachable without Close. On one of
// several copies it has the source closed when they all are unreachable, or closed. Readers that are made of this one
// inherit the mark. Readers made from an array need none. Calling it again does nothing.
//
// It is for the producer: a writer that cannot be reached either is not closed, see [StreamWriter.OnReaderClose].
// Functions on the way may refer to the reader.
func (sr *StreamReader[T]) SetAutomaticClose() {
	if sr == nil || sr.src == nil || sr.closes || sr.state.Load() != readerOpen {
		return
	}
	sr.closes = true
	if p := sr.src.Producer(); p != nil {
		sr.auto = runtime.AddCleanup(sr, pull.CloseUnreachable, p)
	}
	if cursor, ok := sr.src.(*broadcast.Cursor[T]); ok {
		cursor.CloseLogWhenUnreachable()
	}
}

// take hands the source of the reader over to a successor, and says whether it is to be closed automatically.
func (sr *StreamReader[T]) take() (src pull.Source[T], auto bool) {
	if sr == nil {
		return &failure[T]{err: errNilReader}, false
	}
	src, auto = sr.takeSource()
	if sr.first != nil {
		src = firstStage(src, sr.first)
	}
	return src, auto
}

func (sr *StreamReader[T]) takeSource() (src pull.Source[T], auto bool) {
	switch {
	case sr.src == nil:
		return &array[T]{rest: sr.rest}, false
	case sr.state.CompareAndSwap(readerOpen, readerHandedOver):
		sr.auto.Stop()
		return sr.src, sr.closes
	case sr.state.Load() == readerClosed:
		return sr.src, false
	}
	return &failure[T]{err: errHandedOver}, false
}
