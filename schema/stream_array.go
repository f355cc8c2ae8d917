package schema

import (
	"io"

	"github.com/weftgo/weft/internal/pull"
)

// StreamReaderFromArray returns a reader that yields the elements of arr in order and then io.EOF. The slice is not
// copied. Closing such a reader does nothing, it can be read on; its copies are independent and cost no goroutine.
func StreamReaderFromArray[T any](arr []T) *StreamReader[T] {
	return &StreamReader[T]{rest: arr}
}

// array is the source form of a reader made from an array.
type array[T any] struct{ rest []T }

func (a *array[T]) Poll(pull.Waker) (item pull.Item[T], ok bool) {
	if len(a.rest) == 0 {
		return pull.Item[T]{Err: io.EOF}, true
	}
	item.Value, a.rest = a.rest[0], a.rest[1:]
	return item, true
}

func (a *array[T]) Prompt() bool { return true }

func (a *array[T]) Close() {}

func (a *array[T]) Producer() pull.Closer { return nil }

// failure is the source of a stream that never was one: an error, then the end.
type failure[T any] struct{ err error }

func (f *failure[T]) Poll(pull.Waker) (item pull.Item[T], ok bool) {
	if f.err == nil {
		return pull.Item[T]{Err: io.EOF}, true
	}
	item.Err, f.err = f.err, nil
	return item, true
}

func (f *failure[T]) Prompt() bool { return true }

func (f *failure[T]) Close() {}

func (f *failure[T]) Producer() pull.Closer { return nil }
