package kit

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// A Pattern recognises JSON documents that are equal, byte for byte, but for the values of some fields, as the events of
// one stream are. What such a document says is known without decoding it, except for these values. The zero Pattern
// matches nothing. It is not safe for concurrent use.
type Pattern struct {
	names    []string // of the holes
	literals [][]byte // before, between and behind the holes
	values   [][]byte // of the latest match
}

// Learn makes a pattern of a valid document. The fields of these names, wherever they are, may differ as long as each
// keeps its type: a text or a number.
func (p *Pattern) Learn(doc []byte, names ...string) {
	p.names, p.literals = p.names[:0], p.literals[:0]
	start := 0
	for at := 0; at < len(doc); {
		if doc[at] != '"' {
			at++
			continue
		}
		end := stringEnd(doc, at)
		name := doc[at:end]
		at = skipSpace(doc, end)
		if at >= len(doc) || doc[at] != ':' || !slices.ContainsFunc(names, func(n string) bool {
			return len(name) == len(n)+2 && string(name[1:len(name)-1]) == n
		}) {
			continue
		}
		from := skipSpace(doc, at+1)
		to := scalarEnd(doc, from)
		if to == from {
			continue
		}
		p.names = append(p.names, string(name[1:len(name)-1]))
		p.literals = append(p.literals, bytes.Clone(doc[start:from]))
		start, at = to, to
	}
	p.literals = append(p.literals, bytes.Clone(doc[start:]))
}

// Holes returns the names of the fields that differ, in their order.
func (p *Pattern) Holes() []string { return p.names }

// Forget makes the pattern match nothing.
func (p *Pattern) Forget() { p.names, p.literals = p.names[:0], p.literals[:0] }

// Match reports whether a document has the pattern, and returns the JSON text of the fields that differ, in their
// order. The values are valid until the next call.
func (p *Pattern) Match(doc []byte) ([][]byte, bool) {
	if len(p.names) == 0 {
		return nil, false
	}
	p.values = p.values[:0]
	for i, literal := range p.literals {
		rest, ok := bytes.CutPrefix(doc, literal)
		if !ok {
			return nil, false
		}
		if i == len(p.names) {
			return p.values, len(rest) == 0
		}
		end := scalarEnd(rest, 0)
		if end == 0 {
			return nil, false
		}
		p.values = append(p.values, rest[:end])
		doc = rest[end:]
	}
	return nil, false
}

func skipSpace(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\t' || doc[at] == '\r' || doc[at] == '\n') {
		at++
	}
	return at
}

// stringEnd returns the place behind the string that begins at start.
func stringEnd(doc []byte, start int) int {
	for at := start + 1; at < len(doc); at++ {
		switch doc[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(doc)
}

// scalarEnd returns the place behind the text or the whole number that begins at start, and start if there is neither.
func scalarEnd(doc []byte, start int) int {
	if start >= len(doc) {
		return start
	}
	if doc[start] == '"' {
		end := stringEnd(doc, start)
		if end-start < 2 || doc[end-1] != '"' {
			return start
		}
		return end
	}
	end := start
	for end < len(doc) && doc[end] >= '0' && doc[end] <= '9' {
		end++
	}
	if end-start > 1 && doc[start] == '0' {
		return start
	}
	return end
}

// Text returns the text that a value of [Pattern.Match] stands for, and false if it is no valid JSON string.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	for _, b := range inner {
		if b < ' ' || b == '\\' || b == '"' {
			var text string
			err := json.Unmarshal(value, &text)
			return text, err == nil
		}
	}
	if !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}
