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
	if c := leafCodec(t); c != nil {
		return b.add(t, c)
	}
	switch t.Kind() {
	case reflect.Pointer:
		c := &pointerCodec{wrapped: isNullable(t.Elem())}
		b.add(t, c)
		c.elem = b.codec(t.Elem())
		return c
	case reflect.Slice:
		c := &sliceCodec{}
		b.add(t, c)
		c.elem = b.codec(t.Elem())
		return c
	case reflect.Array:
		return b.add(t, &arrayCodec{elem: b.codec(t.Elem())})
	case reflect.Map:
		return b.mapCodec(t)
	case reflect.Struct:
		return b.structCodec(t)
	}
	return b.add(t, unsupportedCodec{typ: t})
}

// add makes c known before the codecs it consists of are made, which may need it.
func (b codecBuilder) add(t reflect.Type, c codec) codec {
	b[t] = c
	return c
}

// leafCodec is the codec of a type that needs no other, or nil.
func leafCodec(t reflect.Type) codec {
	if c := opaqueCodec(t); c != nil {
		return c
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintCodec{}
	case reflect.Float32, reflect.Float64:
		return floatCodec{bits: t.Bits()}
	case reflect.Complex64, reflect.Complex128:
		return complexCodec{bits: t.Bits() / 2}
	case reflect.String:
		return stringCodec{}
	case reflect.Interface:
		return interfaceCodec{}
	case reflect.Slice:
		if isByte(t.Elem()) {
			return bytesCodec{}
		}
	case reflect.Array:
		if isByte(t.Elem()) {
			return byteArrayCodec{}
		}
	}
	return nil
}

func isByte(t reflect.Type) bool { return t.Kind() == reflect.Uint8 && !isOpaque(t) }

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
