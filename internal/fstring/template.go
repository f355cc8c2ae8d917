// Package fstring renders templates with replacement fields in braces, in the way of Python's str.format.
//
// Package format, and through it the prompts of package schema, uses it for the FString format.
// It must never evaluate anything but a look-up: no calls, no expressions, nothing outside of the variables given.
package fstring

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrTooLong is returned when the rendered text would exceed the limit.
var ErrTooLong = errors.New("rendered template is too long")

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	pieces []piece
	size   int // of the literal text
}

// piece is a literal text, and the field behind it unless it is the last one.
type piece struct {
	literal string
	field   *field
}

// Compile parses a template:
//
//   - {name} is replaced by the variable, {name.key} and {name[key]} by what is found in it: an entry of a map, a field
//     of a struct, an element of a list;
//   - {} and {0} stand for the map of all variables;
//   - {name:spec} formats the value, see the type spec; a [Formatter] formats itself;
//   - {{ and }} are literal braces.
func Compile(text string) (*Template, error) {
	t := &Template{}
	var literal strings.Builder
	var numbering numbering
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			literal.WriteString(rest)
			break
		}
		literal.WriteString(rest[:i])
		offset := len(text) - len(rest) + i
		brace := rest[i]
		rest = rest[i+1:]
		if rest != "" && rest[0] == brace {
			literal.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if brace == '}' || end < 0 {
			return nil, &singleBrace{brace, offset}
		}
		f, err := parseField(rest[:end], offset, &numbering)
		if err != nil {
			return nil, err
		}
		t.add(&literal, f)
		rest = rest[end+1:]
	}
	t.add(&literal, nil)
	return t, nil
}

func (t *Template) add(literal *strings.Builder, f *field) {
	t.size += literal.Len()
	t.pieces = append(t.pieces, piece{literal.String(), f})
	literal.Reset()
}

// Execute renders the template with the variables, which may be nil. A result of more than limit bytes is an error.
func (t *Template) Execute(vars map[string]any, limit int) (string, error) {
	if len(t.pieces) == 1 && t.size <= limit {
		return t.pieces[0].literal, nil
	}
	var b strings.Builder
	b.Grow(min(t.size, limit))
	for _, p := range t.pieces {
		if b.Len()+len(p.literal) > limit {
			return "", ErrTooLong
		}
		b.WriteString(p.literal)
		if p.field == nil {
			continue
		}
		if err := p.field.render(&b, vars); err != nil {
			return "", err
		}
	}
	if b.Len() > limit {
		return "", ErrTooLong
	}
	return b.String(), nil
}

// singleBrace is a brace that is neither part of a field nor doubled.
type singleBrace struct {
	brace  byte
	offset int
}

func (e *singleBrace) Error() string {
	return fmt.Sprintf("Single '%c' encountered in format string (offset %d; %s)", e.brace, e.offset, bracesHint)
}

// numbering checks that a template either numbers its positional fields or leaves it to be done.
type numbering struct {
	automatic int
	manual    bool
}

func (n *numbering) next() (int, error) {
	if n.manual {
		return 0, errors.New("cannot switch from manual field specification to automatic field numbering")
	}
	n.automatic++
	return n.automatic - 1, nil
}

func (n *numbering) given(position string) (int, error) {
	if n.automatic > 0 {
		return 0, errors.New("cannot switch from automatic field numbering to manual field specification")
	}
	n.manual = true
	i, err := strconv.Atoi(position)
	if err != nil {
		return 0, fmt.Errorf("index out of bounds: %s", position)
	}
	return i, nil
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
