// Package search finds files by pattern and lines by regular expression, for backends in memory and on disk. It reads
// what it is given and knows nothing of where that comes from. It must never need more memory for a file than the query
// allows, and never work much longer than its context lasts.
package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/weftgo/weft/adk/filesystem/internal/text"
	"github.com/weftgo/weft/internal/safematch"
)

// Query says which lines to find.
type Query struct {
	// Pattern is a regular expression. With Multiline it is matched with the whole text instead of line by line.
	Pattern         string
	CaseInsensitive bool
	Multiline       bool
	// Before and After are the lines of context to emit around a match.
	Before, After int

	// SkipBinary leaves out what looks binary, as it has NUL bytes.
	SkipBinary bool
	// MaxLine is the number of bytes of a line that count; the rest of the line is left out. 0 means no bound.
	MaxLine int
	// MaxBytes bounds the text of a multiline search, and the lines kept as context. 0 means no bound.
	MaxBytes int
	// MaxMatches bounds the matches that a multiline search looks for in a text. 0 means no bound.
	MaxMatches int
}

// Emit gets a line, numbered from 1, without its newline. An error ends the search.
type Emit func(line int, text string) error

// A Searcher finds the lines of a [Query] in one text after the other. It is not safe for concurrent use.
type Searcher struct {
	query Query
	re    *safematch.Regexp
	br    *bufio.Reader
	long  []byte // a line that does not fit the buffer of br
}

// NewSearcher compiles a query.
func NewSearcher(q Query) (*Searcher, error) {
	if q.Pattern == "" {
		return nil, errors.New("pattern cannot be empty")
	}
	flags := ""
	if q.CaseInsensitive {
		flags += "i"
	}
	if q.Multiline {
		flags += "ms"
	}
	re, err := safematch.Compile(q.Pattern, flags)
	if err != nil {
		return nil, err
	}
	return &Searcher{query: q, re: re, br: bufio.NewReaderSize(nil, 64<<10)}, nil
}

// binaryHead is the length of the beginning of a text by which it is taken for binary or not.
const binaryHead = 8 << 10

// Search calls emit for the matching lines of r and their context, in order. It gives up soon after ctx has ended, also
// within a line, and returns the error of ctx.
func (s *Searcher) Search(ctx context.Context, r io.Reader, emit Emit) error {
	s.br.Reset(text.Reader(ctx, r))
	defer s.br.Reset(nil)
	if s.query.SkipBinary {
		// An error comes again on reading.
		if head, _ := s.br.Peek(binaryHead); bytes.IndexByte(head, 0) >= 0 {
			return nil
		}
	}
	c := &contextLines{query: &s.query, emit: emit}
	m := s.re.Matcher(ctx)
	if s.query.Multiline {
		return s.searchText(m, c)
	}
	return s.searchLines(m, c)
}

func (s *Searcher) searchLines(m *safematch.Matcher, c *contextLines) error {
	for n := 1; ; n++ {
		line, err := s.readLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		found, err := m.Match(line)
		if err != nil {
			return err
		}
		matches := 0
		if found {
			matches = 1
		}
		if found && s.query.SkipBinary && bytes.IndexByte(line, 0) >= 0 {
			return nil
		}
		if err := c.line(n, line, matches); err != nil {
			return err
		}
	}
}

// readLine returns the next line, valid until the next call; io.EOF after the last.
func (s *Searcher) readLine() ([]byte, error) {
	s.long = s.long[:0]
	for whole := true; ; whole = false {
		part, err := s.br.ReadSlice('\n')
		if err == nil && whole {
			return s.cut(trimNewline(part)), nil
		}
		s.long = s.cut(append(s.long, part...))
		switch {
		case err == bufio.ErrBufferFull:
		case err == nil, err == io.EOF && len(s.long) > 0:
			return trimNewline(s.long), nil
		default:
			return nil, err
		}
	}
}

func (s *Searcher) cut(line []byte) []byte {
	if s.query.MaxLine > 0 && len(line) > s.query.MaxLine {
		return line[:s.query.MaxLine]
	}
	return line
}

func trimNewline(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// searchText matches the whole text. A match counts for every line that it has a byte in.
func (s *Searcher) searchText(m *safematch.Matcher, c *contextLines) error {
	data, err := s.readText()
	if err != nil {
		return err
	}
	if s.query.SkipBinary && bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	limit := -1
	if s.query.MaxMatches > 0 {
		limit = s.query.MaxMatches
	}
	spans, err := m.FindAll(data, limit)
	if err != nil {
		return err
	}
	for n, start := 1, 0; start < len(data) && (len(spans) > 0 || c.due > 0); n++ {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		matches := 0
		for matches < len(spans) && spans[matches][0] < end {
			matches++
		}
		if err := c.line(n, s.cut(trimNewline(data[start:end])), matches); err != nil {
			return err
		}
		// Spans are in order and do not overlap: only the last one can continue in the next line.
		done := matches
		if matches > 0 && lastByte(spans[matches-1]) >= end {
			done--
		}
		spans, start = spans[done:], end
	}
	return nil
}

// lastByte is the position of the last byte of a match; an empty match counts for the byte that it stands before.
func lastByte(span []int) int { return max(span[0], span[1]-1) }

func (s *Searcher) readText() ([]byte, error) {
	if s.query.MaxBytes <= 0 {
		return io.ReadAll(s.br)
	}
	data, err := io.ReadAll(io.LimitReader(s.br, int64(s.query.MaxBytes)+1))
	if err == nil && len(data) > s.query.MaxBytes {
		err = text.ErrTooLarge
	}
	return data, err
}
