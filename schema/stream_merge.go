package schema

import (
	"errors"
	"maps"
	"slices"

	"github.com/weftgo/weft/internal/merge"
	"github.com/weftgo/weft/internal/pull"
)

// SourceEOF is the error item by which a reader of [MergeNamedStreamReaders] reports that one of its sources has ended.
// It is not io.EOF: the stream continues with the other sources.
type SourceEOF struct{ name string }

// Error names the source.
func (e *SourceEOF) Error() string { return "EOF from source stream: " + e.name }

// GetSourceName returns the name of the source whose end err reports, if it is or wraps a [SourceEOF].
func GetSourceName(err error) (string, bool) {
	var end *SourceEOF
	if errors.As(err, &end) {
		return end.name, true
	}
	return "", false
}

func newSourceEOF(name string) error { return &SourceEOF{name: name} }

// MergeStreamReaders returns one reader that yields the items of all srs as they arrive, and takes them over. The
// order within a source is kept. The stream ends when all sources have; errors end nothing. Closing it closes all
// sources.
//
// Without srs it returns nil, of one reader that reader. Nil readers are skipped. If all were made from arrays, so is
// the result, in the order of srs. Merged readers among srs are taken apart; an end that they would have reported by
// name is not reported. A converted reader is read by a goroutine, up to a few items ahead, from the first Recv until
// it ends or the merged reader is closed.
func MergeStreamReaders[T any](srs []*StreamReader[T]) *StreamReader[T] {
	if len(srs) == 0 {
		return nil
	}
	srs = slices.DeleteFunc(slices.Clone(srs), func(sr *StreamReader[T]) bool { return sr == nil })
	if len(srs) == 1 {
		return srs[0]
	}
	var sources sourceList[T]
	var elements []T
	for _, sr := range srs {
		if sr.src == nil {
			elements = append(elements, sr.rest...)
			continue
		}
		sources.addParts(sr)
	}
	if len(sources.list) == 0 && !sources.merged {
		return StreamReaderFromArray(elements)
	}
	if len(elements) > 0 {
		sources.list = append(sources.list, &array[T]{rest: elements})
	}
	return sources.reader(nil, nil)
}

// MergeNamedStreamReaders is [MergeStreamReaders] that reports the end of each source by an item of its own: Recv
// returns a zero value and a [SourceEOF] once for every source, after its last item; see [GetSourceName]. After all
// of them comes io.EOF. Without srs it returns nil. A nil reader counts as one that has ended.
func MergeNamedStreamReaders[T any](srs map[string]*StreamReader[T]) *StreamReader[T] {
	names := slices.Sorted(maps.Keys(srs))
	readers := make([]*StreamReader[T], len(names))
	for i, name := range names {
		readers[i] = srs[name]
	}
	return InternalMergeNamedStreamReaders(readers, names)
}

// InternalMergeNamedStreamReaders is [MergeNamedStreamReaders] with the names by position. Without any names no ends
// are reported; missing ones are empty. It serves other packages of this module.
func InternalMergeNamedStreamReaders[T any](srs []*StreamReader[T], names []string) *StreamReader[T] {
	if len(srs) == 0 {
		return nil
	}
	var sources sourceList[T]
	for _, sr := range srs {
		sources.add(sr)
	}
	if len(names) == 0 {
		return sources.reader(nil, nil)
	}
	return sources.reader(names, newSourceEOF)
}

// sourceList collects the sources of a merge.
type sourceList[T any] struct {
	list   []pull.Source[T]
	auto   bool // one of them is to be closed automatically
	merged bool // a merged reader was taken apart
}

func (l *sourceList[T]) add(sr *StreamReader[T]) {
	if sr == nil {
		sr = StreamReaderFromArray[T](nil)
	}
	src, auto := sr.take()
	l.list = append(l.list, src)
	l.auto = l.auto || auto
}

// addParts adds the parts of a merged reader, or else the reader.
func (l *sourceList[T]) addParts(sr *StreamReader[T]) {
	l.add(sr)
	last := len(l.list) - 1
	if queue, ok := l.list[last].(*merge.Queue[T]); ok {
		l.list = append(l.list[:last], queue.Sources()...)
		l.merged = true
	}
}

func (l *sourceList[T]) reader(names []string, onEnd func(string) error) *StreamReader[T] {
	sr := newReader[T](merge.New(l.list, names, onEnd))
	if l.auto {
		sr.SetAutomaticClose()
	}
	return sr
}
