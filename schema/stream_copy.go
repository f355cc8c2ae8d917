package schema

import "github.com/weftgo/weft/internal/broadcast"

// Abandon closes the reader, and the stream for all other copies of it: each yields what the source had ready, then
// err, and then io.EOF. The source is closed, so that its producer does not wait for a reader that may never come. It
// may be called by any goroutine. On a reader that is no copy, and after the end of the stream, it is Close.
func (sr *StreamReader[T]) Abandon(err error) {
	if sr == nil {
		return
	}
	if cursor, ok := sr.src.(*broadcast.Cursor[T]); ok && err != nil && sr.state.Load() == readerOpen {
		cursor.CutOff(err)
	}
	sr.Close()
}

// Copy returns n readers that each yield every item this reader has not yielded yet, and takes the reader over. The
// copies are independent: each may be read in a goroutine of its own, at its own speed, and must be closed; items are
// kept until the slowest open copy has read them. The source is read when a copy asks for an item that none has asked
// for yet, and closed when all copies are. A copy can be copied again; that adds readers to the same backlog.
//
// With n < 2 the reader itself is returned, in a slice.
func (sr *StreamReader[T]) Copy(n int) []*StreamReader[T] {
	if n < 2 {
		return []*StreamReader[T]{sr}
	}
	copies := make([]*StreamReader[T], n)
	if sr != nil && sr.src == nil {
		for i := range copies {
			copies[i] = StreamReaderFromArray(sr.rest)
		}
		return copies
	}
	src, auto := sr.take()
	cursor, ok := src.(*broadcast.Cursor[T])
	if ok {
		defer cursor.Close() // its clones continue
		cursor = cursor.Clone()
	} else {
		cursor = broadcast.New(src)
	}
	for i := range copies {
		if i > 0 {
			cursor = cursor.Clone()
		}
		copies[i] = newReader[T](cursor)
		if auto {
			copies[i].SetAutomaticClose()
		}
	}
	return copies
}
