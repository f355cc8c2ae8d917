package serialization

import (
	"reflect"
	"sync"
)

// A codec writes and reads the values of one type. It is made once for a type, by reflection, and used ever after.
type codec interface {
	encode(e *encoder, v reflect.Value) error
	// decode fills v, which is settable and zero.
	decode(d *decoder, v reflect.Value) error
}

var (
	codecs   sync.Map // reflect.Type → codec
	codecsMu sync.Mutex
)

// codecOf returns the codec of t.
func codecOf(t reflect.Type) codec {
	if c, ok := codecs.Load(t); ok {
		return c.(codec)
	}
	codecsMu.Lock()
	defer codecsMu.Unlock()
	b := codecBuilder{}
	c := b.codec(t)
	for t, c := range b { // only now are those of recursive types complete
		codecs.LoadOrStore(t, c)
	}
	return c
}

// A codecBuilder holds the codecs made for a type and what it consists of.
type codecBuilder map[reflect.Type]codec

func (b codecBuilder) codec(t reflect.Type) codec {
	if c, ok := codecs.Load(t); ok {
		return c.(codec)
	}
	if c, ok := b[t]; ok {
		return c
	}
	if c := opaqueCodec(t); c != nil {
		return b.add(t, c)
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !isOpaque(t.Elem()):
		return b.add(t, bytesCodec{})
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && !isOpaque(t.Elem()):
		return b.add(t, byteArrayCodec{})
	}
	switch t.Kind() {
	case reflect.Bool:
		return b.add(t, boolCodec{})
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return b.add(t, intCodec{})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return b.add(t, uintCodec{})
	case reflect.Float32, reflect.Float64:
		return b.add(t, floatCodec{bits: t.Bits()})
	case reflect.Complex64, reflect.Complex128:
		return b.add(t, complexCodec{bits: t.Bits() / 2})
	case reflect.String:
		return b.add(t, stringCodec{})
	case reflect.Interface:
		return b.add(t, interfaceCodec{})
	case reflect.Pointer:
		c := &pointerCodec{wrapped: isNullable(t.Elem())}
		b.add(t, c).(*pointerCodec).elem = b.codec(t.Elem())
		return c
	case reflect.Slice:
		c := &sliceCodec{}
		b.add(t, c)
		c.elem = b.codec(t.Elem())
		return c
	case reflect.Array:
		c := &arrayCodec{elem: b.codec(t.Elem())}
		return b.add(t, c)
	case reflect.Map:
		return b.mapCodec(t)
	case reflect.Struct:
		return b.structCodec(t)
	}
	return b.add(t, unsupportedCodec{typ: t})
}

func (b codecBuilder) add(t reflect.Type, c codec) codec {
	b[t] = c
	return c
}

// isNullable reports whether a value of t may be written as null.
func isNullable(t reflect.Type) bool {
	if isOpaque(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	}
	return false
}

// addressable returns v, or a copy that has an address.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}
