package schema

import (
	"fmt"

	"github.com/weftgo/weft/internal/pipe"
	"github.com/weftgo/weft/internal/pull"
)

// Pipe returns the two ends of a stream that buffers cap items. With cap 0 each Send waits until its item is
// received. Pipe panics if cap is negative.
//
//	sr, sw := schema.Pipe[string](8)
//	go func() {
//		defer sw.Close()
//		for _, word := range words {
//			if closed := sw.Send(word, nil); closed {
//				return
//			}
//		}
//	}()
//	defer sr.Close()
//	for word, err := range sr.All() { ... }
func Pipe[T any](cap int) (*StreamReader[T], *StreamWriter[T]) {
	if cap < 0 {
		panic(fmt.Sprintf("schema.Pipe: negative capacity %d", cap))
	}
	p := pipe.New[T](cap)
	return newReader[T](p), &StreamWriter[T]{pipe: p}
}

// A StreamWriter is the sending end of a [Pipe]. It may be used by several goroutines. The zero value behaves as if
// the reader were closed.
type StreamWriter[T any] struct{ pipe *pipe.Pipe[T] }

// Send sends an item, which is a chunk, an error, or both, and waits while the buffer is full. An error item does not
// end the stream. Send reports true, and drops the item, when the reader or the writer is closed; the producer should
// stop then. A Send that is waiting when the reader closes returns at once.
func (sw *StreamWriter[T]) Send(chunk T, err error) (closed bool) {
	if sw == nil || sw.pipe == nil {
		return true
	}
	return sw.pipe.Send(pull.Item[T]{Value: chunk, Err: err})
}

// OnReaderClose has f called once when the reader is closed, or at once if it is closed already. It is for a producer
// that waits for something else than Send, such as a server, and would not notice that the reader is gone. f runs in the
// goroutine that closes the reader and must be quick: a context.CancelFunc, say. It replaces an f given before. When the
// reader becomes unreachable (see [StreamReader.SetAutomaticClose]), f is called if the writer is still held.
func (sw *StreamWriter[T]) OnReaderClose(f func()) {
	switch {
	case sw != nil && sw.pipe != nil:
		sw.pipe.OnReaderClose(f)
	case f != nil:
		f()
	}
}

// Close ends the stream: the reader gets what was sent, then io.EOF. Closing again does nothing.
func (sw *StreamWriter[T]) Close() {
	if sw != nil && sw.pipe != nil {
		sw.pipe.CloseWrite()
	}
}
