package schema

import "github.com/weftgo/weft/internal/pull"

// StreamReaderWithFirst returns a reader that yields what f makes of the first value of sr, and then what sr does. It
// takes sr over, and may return sr itself. f runs inside Recv and must not panic; error items before the first value
// are passed on. Unlike with [StreamReaderWithConvert] the items after the first cost nothing.
func StreamReaderWithFirst[T any](sr *StreamReader[T], f func(T) T) *StreamReader[T] {
	if sr == nil || sr.src == nil || sr.first != nil {
		src, _ := sr.take()
		sr = newReader(src)
	}
	sr.first = f
	return sr
}

// applyFirst is called for each item until the first value.
func (sr *StreamReader[T]) applyFirst(item pull.Item[T]) pull.Item[T] {
	if item.Err == nil {
		item.Value = sr.first(item.Value)
		sr.first = nil
	}
	return item
}

// firstStage does for a reader that is handed over what the reader would have done.
func firstStage[T any](src pull.Source[T], f func(T) T) pull.Source[T] {
	return &converter[T, T]{src: src, convert: func(v T) (T, error) {
		if f != nil {
			v, f = f(v), nil
		}
		return v, nil
	}}
}
