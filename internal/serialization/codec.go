package serialization

import "reflect"

// A codec writes and reads the values of one type. It is made once for a type, by reflection, and used ever after.
type codec interface {
	encode(e *encoder, v reflect.Value) error
	// decode fills v, which is settable and zero.
	decode(d *decoder, v reflect.Value) error
}

var codecs = perType[codec]{make: makeCodec}

func makeCodec(b building[codec], t reflect.Type) codec {
	if c := leafCodec(t); c != nil {
		return c
	}
	switch t.Kind() {
	case reflect.Pointer:
		c := &pointerCodec{wrapped: isNullable(t.Elem())}
		b.add(t, c)
		c.elem = b.of(t.Elem())
		return c
	case reflect.Slice:
		c := &sliceCodec{}
		b.add(t, c)
		c.elem = b.of(t.Elem())
		return c
	case reflect.Array:
		c := &arrayCodec{}
		b.add(t, c)
		c.elem = b.of(t.Elem())
		return c
	case reflect.Map:
		return makeMapCodec(b, t)
	case reflect.Struct:
		return makeStructCodec(b, t)
	}
	return unsupportedCodec{typ: t}
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
