package serialization

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/json"
)

var (
	jsonMarshaler     = reflect.TypeFor[stdjson.Marshaler]()
	jsonUnmarshaler   = reflect.TypeFor[stdjson.Unmarshaler]()
	textMarshaler     = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler   = reflect.TypeFor[encoding.TextUnmarshaler]()
	binaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// isOpaque reports whether values of t are written by their own methods: JSON, or, for structs that show nothing of
// themselves, text or binary.
func isOpaque(t reflect.Type) bool {
	return hasPair(t, jsonMarshaler, jsonUnmarshaler) || isClosed(t) && (hasText(t) || hasBinary(t))
}

func hasText(t reflect.Type) bool   { return hasPair(t, textMarshaler, textUnmarshaler) }
func hasBinary(t reflect.Type) bool { return hasPair(t, binaryMarshaler, binaryUnmarshaler) }

// hasPair reports whether t or *t has both methods.
func hasPair(t reflect.Type, marshaler, unmarshaler reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(marshaler) && p.Implements(unmarshaler)
}

// isClosed reports whether t is a struct with fields but no exported one.
func isClosed(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() == 0 {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// opaqueCodec has the methods of a type do the work.
type opaqueCodec struct{ typ reflect.Type }

func (c *opaqueCodec) encode(e *encoder, v reflect.Value) error {
	switch m := addressable(v).Addr().Interface().(type) {
	case stdjson.Marshaler:
		return e.ownJSON(m)
	case encoding.TextMarshaler:
		text, err := m.MarshalText()
		e.text(string(text))
		return err
	case encoding.BinaryMarshaler:
		b, err := m.MarshalBinary()
		e.bytes(b)
		return err
	}
	panic("not opaque: " + c.typ.String())
}

func (e *encoder) ownJSON(m stdjson.Marshaler) error {
	text, err := m.MarshalJSON()
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("%T.MarshalJSON returned what is not JSON", m)
	}
	e.buf = append(e.buf, text...)
	return nil
}

func (c *opaqueCodec) decode(d *decoder, v reflect.Value) error {
	switch m := v.Addr().Interface().(type) {
	case stdjson.Unmarshaler:
		text, err := d.raw()
		if err != nil {
			return err
		}
		if !json.Valid(text) {
			return d.errorf("bad JSON for %s", c.typ)
		}
		return m.UnmarshalJSON(text)
	case encoding.TextUnmarshaler:
		s, err := d.string()
		if err != nil {
			return err
		}
		return m.UnmarshalText([]byte(s))
	case encoding.BinaryUnmarshaler:
		b, err := d.bytes()
		if err != nil {
			return err
		}
		return m.UnmarshalBinary(b)
	}
	panic("not opaque: " + c.typ.String())
}
