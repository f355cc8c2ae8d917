package fstring

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftgo/weft/internal/safe"
)

// maxPadding bounds the width and the precision.
const maxPadding = 1 << 16

// spec says how a value is formatted:
//
//	[[fill]align][sign][#][0][width][.precision][type]
//
// The alignment is < (left), > (right, the default), ^ (centre) or = (fill between sign and number). The sign is +, -
// or a space, # asks for a prefix such as 0x, a 0 fills with zeros behind the sign. The width counts bytes. The types b
// d o x X e E f F g G are as in package fmt, % is a percentage, s is %+v, r is %#v and t is the Go type. Without a
// type the value is printed as fmt.Print does.
type spec struct {
	text  string
	verb  string // for package fmt
	kind  byte   // the type, if it is not one of package fmt
	fill  string
	align byte // 0 if none was given
	width int
}

// badSpec is a spec that means nothing. It is an error only when a value is formatted that does not understand it.
type badSpec string

func (s badSpec) Error() string { return "Invalid flag pattern: " + string(s) }

// parseSpec parses what stands behind the colon of a field.
func parseSpec(text string) (spec, error) {
	s := spec{text: text, fill: " ", verb: "%v"}
	if text == "" {
		return s, nil
	}
	rest := s.parseAlign(text)
	var flags strings.Builder
	flags.WriteByte('%')
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		if rest[0] != '-' {
			flags.WriteByte(rest[0])
		}
		rest = rest[1:]
	}
	if strings.HasPrefix(rest, "#") {
		flags.WriteByte('#')
		rest = rest[1:]
	}
	if strings.HasPrefix(rest, "0") {
		rest = rest[1:]
		s.zeroFill()
	}
	var ok bool
	if s.width, rest, ok = cutNumber(rest); !ok {
		return s, badSpec(text)
	}
	if strings.HasPrefix(rest, ".") {
		precision, after, ok := cutNumber(rest[1:])
		if !ok || after == rest[1:] {
			return s, badSpec(text)
		}
		flags.WriteByte('.')
		flags.WriteString(strconv.Itoa(precision))
		rest = after
	}
	switch {
	case rest == "":
		flags.WriteByte('v')
	case len(rest) > 1 || !s.parseType(rest[0], &flags):
		return s, badSpec(text)
	}
	s.verb = flags.String()
	return s, nil
}

const aligns = "<>=^"

// parseAlign takes the alignment and the fill off the beginning.
func (s *spec) parseAlign(text string) (rest string) {
	_, n := utf8.DecodeRuneInString(text)
	switch {
	case len(text) > n && strings.IndexByte(aligns, text[n]) >= 0:
		s.fill, s.align = text[:n], text[n]
		return text[n+1:]
	case strings.IndexByte(aligns, text[0]) >= 0:
		s.align = text[0]
		return text[1:]
	}
	return text
}

// zeroFill makes the fill zeros, behind the sign unless an alignment was given.
func (s *spec) zeroFill() {
	if s.fill == " " {
		s.fill = "0"
	}
	if s.align == 0 {
		s.align = '='
	}
}

// cutNumber takes digits off the beginning. It reports false for a number that is too large.
func cutNumber(s string) (n int, rest string, ok bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 {
		return 0, s, true
	}
	n, err := strconv.Atoi(s[:digits])
	return n, s[digits:], err == nil && n <= maxPadding
}

func (s *spec) parseType(t byte, verb *strings.Builder) bool {
	switch t {
	case 'b', 'd', 'o', 'x', 'X', 'e', 'E', 'f', 'F', 'g', 'G':
		verb.WriteByte(t)
	case '%':
		s.kind = t
		if !strings.Contains(verb.String(), ".") {
			verb.WriteString(".6")
		}
		verb.WriteString("f%%")
	case 'r':
		verb.WriteString("#v")
	case 's':
		verb.WriteString("+v")
	case 't':
		s.kind = t
		verb.WriteByte('s')
	default:
		return false
	}
	return true
}

// append formats v.
func (s *spec) append(b *strings.Builder, v any) error {
	if s.text == "" {
		if text, ok := v.(string); ok {
			b.WriteString(text)
			return nil
		}
		fmt.Fprint(b, v)
		return nil
	}
	switch s.kind {
	case '%':
		f, ok := toFloat(v)
		if !ok {
			return fmt.Errorf("cannot format %T as a percentage", v)
		}
		v = f * 100
	case 't':
		v = typeName(v)
	}
	s.pad(b, fmt.Sprintf(s.verb, v))
	return nil
}

// Formatter is a value that formats itself. It is given what stands behind the colon of the field.
type Formatter interface {
	PyFormat(spec string) (string, error)
}

func formatItself(f Formatter, spec string) (text string, err error) {
	defer safe.Recover(&err)
	return f.PyFormat(spec)
}

func (s *spec) pad(b *strings.Builder, text string) {
	n := s.width - len(text)
	if n <= 0 {
		b.WriteString(text)
		return
	}
	switch s.align {
	case '<':
		b.WriteString(text)
		s.repeatFill(b, n)
	case '^':
		s.repeatFill(b, n/2)
		b.WriteString(text)
		s.repeatFill(b, n-n/2)
	case '=':
		sign := signLength(text)
		b.WriteString(text[:sign])
		s.repeatFill(b, n)
		b.WriteString(text[sign:])
	default:
		s.repeatFill(b, n)
		b.WriteString(text)
	}
}

func (s *spec) repeatFill(b *strings.Builder, n int) {
	for range n {
		b.WriteString(s.fill)
	}
}

// signLength is the length of what stands before the digits of a number: the sign and a prefix.
func signLength(text string) int {
	n := 0
	if text != "" && strings.IndexByte("+- ", text[0]) >= 0 {
		n = 1
	}
	if len(text) > n+1 && text[n] == '0' && strings.IndexByte("xXbo", text[n+1]) >= 0 {
		n += 2
	}
	return n
}

func typeName(v any) string {
	if r, ok := v.(reflect.Value); ok {
		return r.Type().String()
	}
	return fmt.Sprintf("%T", v)
}

func toFloat(v any) (float64, bool) {
	r, ok := v.(reflect.Value)
	if !ok {
		r = reflect.ValueOf(v)
	}
	switch {
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	}
	return 0, false
}
