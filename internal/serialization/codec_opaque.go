package serialization

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/json"
)

// An opaque type is written by methods of its own.

var (
	jsonMarshaler     = reflect.TypeFor[stdjson.Marshaler]()
	jsonUnmarshaler   = reflect.TypeFor[stdjson.Unmarshaler]()
	textMarshaler     = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler   = reflect.TypeFor[encoding.TextUnmarshaler]()
	binaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

func isOpaque(t reflect.Type) bool { return opaqueCodec(t) != nil }

// opaqueCodec returns the codec of an opaque type, otherwise nil. Methods for JSON count on any type, those for text or
// bytes only on structs that show nothing else of themselves.
func opaqueCodec(t reflect.Type) codec {
	switch {
	case hasMethods(t, jsonMarshaler, jsonUnmarshaler):
		if part, ok := typedParts.Load(t); ok {
			return typedPartCodec{part.(typedPart)}
		}
		return jsonCodec{}
	case !isClosed(t):
		return nil
	case hasMethods(t, textMarshaler, textUnmarshaler):
		return textCodec{}
	case hasMethods(t, binaryMarshaler, binaryUnmarshaler):
		return binaryCodec{}
	}
	return nil
}

// hasMethods reports whether *t, and so possibly t, implements both interfaces.
func hasMethods(t reflect.Type, marshaler, unmarshaler reflect.Type) bool {
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

// methods returns a pointer to v, or to a copy, as the interface M.
func methods[M any](v reflect.Value) M { return addressable(v).Addr().Interface().(M) }

type jsonCodec struct{}

func (jsonCodec) encode(e *encoder, v reflect.Value) error {
	text, err := methods[stdjson.Marshaler](v).MarshalJSON()
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("MarshalJSON of %s returned what is not JSON", v.Type())
	}
	e.buf = append(e.buf, text...)
	return nil
}

func (jsonCodec) decode(d *decoder, v reflect.Value) error {
	text, err := d.raw()
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return d.errorf("bad JSON for %s", v.Type())
	}
	return methods[stdjson.Unmarshaler](v).UnmarshalJSON(text)
}

type textCodec struct{}

func (textCodec) encode(e *encoder, v reflect.Value) error {
	text, err := methods[encoding.TextMarshaler](v).MarshalText()
	e.text(string(text))
	return err
}

func (textCodec) decode(d *decoder, v reflect.Value) error {
	text, err := d.string()
	if err != nil {
		return err
	}
	return methods[encoding.TextUnmarshaler](v).UnmarshalText([]byte(text))
}

type binaryCodec struct{}

func (binaryCodec) encode(e *encoder, v reflect.Value) error {
	b, err := methods[encoding.BinaryMarshaler](v).MarshalBinary()
	e.bytes(b)
	return err
}

func (binaryCodec) decode(d *decoder, v reflect.Value) error {
	b, err := d.bytes()
	if err != nil {
		return err
	}
	return methods[encoding.BinaryUnmarshaler](v).UnmarshalBinary(b)
}
