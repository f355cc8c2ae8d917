package serialization

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A decoder reads the tokens and values of a document.
type decoder struct {
	data    []byte
	pos     int
	depth   int
	root    reflect.Type // of the document's value, if that is tagged
	scratch []byte       // of a string with escapes
	// strict: the outermost struct, which is at the depth of outer, must not have fields that its type does not have.
	strict bool
	outer  int
}

func (d *decoder) errorf(format string, args ...any) error {
	return fmt.Errorf("offset %d: "+format, append([]any{d.pos}, args...)...)
}

// peek returns the next byte that is not space, without taking it; 0 at the end.
func (d *decoder) peek() byte {
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; c {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) expect(c byte) error {
	if got := d.peek(); got != c {
		return d.unexpected(strconv.QuoteRune(rune(c)))
	}
	d.pos++
	return nil
}

func (d *decoder) unexpected(wanted string) error {
	if d.peek() == 0 && d.pos >= len(d.data) {
		return fmt.Errorf("expected %s: %w", wanted, io.ErrUnexpectedEOF)
	}
	return d.errorf("expected %s, got %q", wanted, d.data[d.pos])
}

// null takes null if it is next.
func (d *decoder) null() bool { return d.peek() == 'n' && d.word("null") }

func (d *decoder) word(w string) bool {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(w)) {
		return false
	}
	d.pos += len(w)
	return true
}

// more is called before each element of a list or object, after its opening. It takes the comma, or the closing and
// returns false.
func (d *decoder) more(closing byte, first bool) (bool, error) {
	c := d.peek()
	switch {
	case c == closing:
		d.pos++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, d.unexpected("',' or '" + string(rune(closing)) + "'")
	}
	d.pos++
	return true, nil
}

// enter is called before values inside of others, leave after them.
func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return d.errorf("%w", errTooDeep)
	}
	return nil
}

func (d *decoder) leave() { d.depth-- }

// number takes a number.
func (d *decoder) number() ([]byte, error) {
	d.peek()
	start := d.pos
	for d.pos < len(d.data) && isNumeric(d.data[d.pos]) {
		d.pos++
	}
	if start == d.pos {
		return nil, d.unexpected("a number")
	}
	return d.data[start:d.pos], nil
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (d *decoder) bool() (bool, error) {
	switch {
	case d.peek() == 't' && d.word("true"):
		return true, nil
	case d.peek() == 'f' && d.word("false"):
		return false, nil
	}
	return false, d.unexpected("a boolean")
}

// string takes any string.
func (d *decoder) string() (string, error) {
	if d.peek() != '[' {
		s, err := d.text()
		return string(s), err
	}
	d.pos++
	b, err := d.bytes()
	if err != nil {
		return "", err
	}
	return string(b), d.expect(']')
}

// bytes takes a base64 string.
func (d *decoder) bytes() ([]byte, error) {
	s, err := d.text()
	if err != nil {
		return nil, err
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Decode(b, s)
	if err != nil {
		return nil, d.errorf("%w", err)
	}
	return b[:n], nil
}

// text takes a JSON string. The result is valid until the next call.
func (d *decoder) text() ([]byte, error) {
	if err := d.expect('"'); err != nil {
		return nil, err
	}
	start := d.pos
	for i, c := range d.data[start:] {
		switch {
		case c == '"':
			d.pos += i + 1
			return d.data[start : start+i], nil
		case c == '\\':
			d.pos += i
			d.scratch = append(d.scratch[:0], d.data[start:d.pos]...)
			return d.escaped()
		case c < ' ':
			d.pos += i
			return nil, d.errorf("control character in a string")
		}
	}
	d.pos = len(d.data)
	return nil, d.unexpected("the end of a string")
}

// escaped takes the rest of a string from its first escape on; what is before is in scratch.
func (d *decoder) escaped() ([]byte, error) {
	for d.pos < len(d.data) {
		rest := d.data[d.pos:]
		switch c := rest[0]; {
		case c == '"':
			d.pos++
			return d.scratch, nil
		case c == '\\':
			if err := d.escape(); err != nil {
				return nil, err
			}
		default:
			n := bytes.IndexAny(rest, "\"\\")
			if n < 0 {
				n = len(rest)
			}
			d.scratch = append(d.scratch, rest[:n]...)
			d.pos += n
		}
	}
	return nil, d.unexpected("the end of a string")
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape takes one escape sequence.
func (d *decoder) escape() error {
	rest := d.data[d.pos:]
	if len(rest) < 2 {
		d.pos = len(d.data)
		return d.unexpected("an escape sequence")
	}
	if c := unescaped[rest[1]]; c != 0 {
		d.scratch = append(d.scratch, c)
		d.pos += 2
		return nil
	}
	r, ok := unicodeEscape(rest)
	if !ok {
		return d.errorf("bad escape sequence")
	}
	d.pos += 6
	if utf16.IsSurrogate(r) {
		low, _ := unicodeEscape(d.data[d.pos:])
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			d.pos += 6
		}
	}
	d.scratch = utf8.AppendRune(d.scratch, r)
	return nil
}

// unicodeEscape is the code of an escape sequence \uXXXX that s begins with.
func unicodeEscape(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(code), err == nil
}

// raw takes a value of any form and returns its text.
func (d *decoder) raw() ([]byte, error) {
	d.peek()
	start, nesting := d.pos, 0
	for d.pos < len(d.data) {
		switch d.peek() {
		case '{', '[':
			nesting++
			d.pos++
		case '}', ']':
			nesting--
			d.pos++
		case ',', ':':
			d.pos++
		case '"':
			if _, err := d.text(); err != nil {
				return nil, err
			}
		default:
			if err := d.literal(); err != nil {
				return nil, err
			}
		}
		if nesting < 0 {
			return nil, d.errorf("unbalanced brackets")
		}
		if nesting == 0 {
			return d.data[start:d.pos], nil
		}
	}
	return nil, d.unexpected("a value")
}

// literal takes a number, a boolean or null.
func (d *decoder) literal() error {
	if d.word("null") || d.word("true") || d.word("false") {
		return nil
	}
	_, err := d.number()
	return err
}

// any takes a value that names its own type.
func (d *decoder) any() (any, error) {
	switch c := d.peek(); c {
	case 'n':
		if d.null() {
			return nil, nil
		}
	case 't', 'f':
		return d.bool()
	case '"':
		s, err := d.text()
		return string(s), err
	case '{':
		return d.object()
	case '[':
		return d.tagged()
	default:
		number, err := d.number()
		if err != nil {
			return nil, err
		}
		f, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			return nil, d.errorf("bad number %s", number)
		}
		return f, nil
	}
	return nil, d.unexpected("a value")
}

// tagged takes a type with its value.
func (d *decoder) tagged() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	if err := d.expect('['); err != nil {
		return nil, err
	}
	expr, err := d.text()
	if err != nil {
		return nil, err
	}
	t, err := typeByName(expr)
	if err != nil {
		return nil, err
	}
	if d.depth == 1 {
		d.root = t
	}
	if err := d.expect(','); err != nil {
		return nil, err
	}
	v, err := d.newValue(t)
	if err != nil {
		return nil, err
	}
	if err := codecs.of(t).decode(d, v); err != nil {
		return nil, err
	}
	return v.Interface(), d.expect(']')
}

// newValue returns a zero value of t to decode into. An array must have its elements in the data that is left: data may
// not claim more memory than its own size pays for.
func (d *decoder) newValue(t reflect.Type) (reflect.Value, error) {
	if n := inlineElems(t); n > len(d.data)-d.pos {
		return reflect.Value{}, d.errorf("array of %d elements is bigger than its data", n)
	}
	return reflect.New(t).Elem(), nil
}

// inlineElems returns the number of elements that an array type has, counting the elements of arrays in it.
func inlineElems(t reflect.Type) int {
	n := 1
	for ; t.Kind() == reflect.Array; t = t.Elem() {
		n *= t.Len()
	}
	return n
}
