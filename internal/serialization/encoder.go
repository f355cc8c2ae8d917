package serialization

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// An encoder appends values to a buffer.
type encoder struct {
	nesting
	buf  []byte
	keys []string // of the maps being encoded
}

// any writes a value whose type is not known from the context.
func (e *encoder) any(v any) error {
	switch v := v.(type) {
	case nil:
		e.null()
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case string:
		if !utf8.ValidString(v) {
			return e.tagged(reflect.ValueOf(v))
		}
		e.quoted(v)
	case int:
		e.buf = append(e.buf, `["int",`...)
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
		e.buf = append(e.buf, ']')
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return e.tagged(reflect.ValueOf(v))
		}
		e.fraction(v)
	case map[string]any:
		if !isObject(v) {
			return e.tagged(reflect.ValueOf(v))
		}
		return e.object(v)
	default:
		return e.tagged(reflect.ValueOf(v))
	}
	return nil
}

// tagged writes the type of v with its value.
func (e *encoder) tagged(v reflect.Value) error {
	name, err := typeName(v.Type())
	if err != nil {
		return err
	}
	e.buf = append(e.buf, '[')
	e.quoted(name)
	e.buf = append(e.buf, ',')
	if err := codecs.of(v.Type()).encode(e, v); err != nil {
		return err
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (e *encoder) null() { e.buf = append(e.buf, "null"...) }

// fraction writes f so that it cannot be taken for an integer.
func (e *encoder) fraction(f float64) {
	start := len(e.buf)
	e.float(f, 64)
	for _, c := range e.buf[start:] {
		if c == '.' || c == 'e' {
			return
		}
	}
	e.buf = append(e.buf, ".0"...)
}

// float writes a number, or as a string what is none.
func (e *encoder) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.quoted(strconv.FormatFloat(f, 'g', -1, bits))
		return
	}
	e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, bits)
}

// text writes any string.
func (e *encoder) text(s string) {
	if utf8.ValidString(s) {
		e.quoted(s)
		return
	}
	e.buf = append(e.buf, '[')
	e.bytes([]byte(s))
	e.buf = append(e.buf, ']')
}

// bytes writes b as base64.
func (e *encoder) bytes(b []byte) {
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, b)
	e.buf = append(e.buf, '"')
}

// quoted writes a string of valid UTF-8.
func (e *encoder) quoted(s string) {
	buf := append(e.buf, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		buf = append(buf, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, '\\', 'n')
		case '\r':
			buf = append(buf, '\\', 'r')
		case '\t':
			buf = append(buf, '\\', 't')
		default:
			const hex = "0123456789abcdef"
			buf = append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	buf = append(buf, s[start:]...)
	e.buf = append(buf, '"')
}
