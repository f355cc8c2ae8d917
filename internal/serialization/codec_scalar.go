package serialization

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
)

type boolCodec struct{}

func (boolCodec) encode(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendBool(e.buf, v.Bool())
	return nil
}

func (boolCodec) decode(d *decoder, v reflect.Value) error {
	b, err := d.bool()
	v.SetBool(b)
	return err
}

type intCodec struct{}

func (intCodec) encode(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	return nil
}

func (intCodec) decode(d *decoder, v reflect.Value) error {
	number, err := d.number()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return d.errorf("%s is not a value of type %s", number, v.Type())
	}
	v.SetInt(n)
	return nil
}

type uintCodec struct{}

func (uintCodec) encode(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendUint(e.buf, v.Uint(), 10)
	return nil
}

func (uintCodec) decode(d *decoder, v reflect.Value) error {
	number, err := d.number()
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return d.errorf("%s is not a value of type %s", number, v.Type())
	}
	v.SetUint(n)
	return nil
}

type floatCodec struct{ bits int }

func (c floatCodec) encode(e *encoder, v reflect.Value) error {
	e.float(v.Float(), c.bits)
	return nil
}

func (c floatCodec) decode(d *decoder, v reflect.Value) error {
	f, err := d.float(c.bits)
	v.SetFloat(f)
	return err
}

// float takes a number, or a string that says what is none.
func (d *decoder) float(bits int) (float64, error) {
	if d.peek() == '"' {
		s, err := d.text()
		if err != nil {
			return 0, err
		}
		f, err := strconv.ParseFloat(string(s), bits)
		if err != nil || !math.IsNaN(f) && !math.IsInf(f, 0) {
			return 0, d.errorf("bad float %q", s)
		}
		return f, nil
	}
	number, err := d.number()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(number), bits)
	if err != nil {
		return 0, d.errorf("bad float %s", number)
	}
	return f, nil
}

// complexCodec writes the real and the imaginary part.
type complexCodec struct{ bits int }

func (c complexCodec) encode(e *encoder, v reflect.Value) error {
	n := v.Complex()
	e.buf = append(e.buf, '[')
	e.float(real(n), c.bits)
	e.buf = append(e.buf, ',')
	e.float(imag(n), c.bits)
	e.buf = append(e.buf, ']')
	return nil
}

func (c complexCodec) decode(d *decoder, v reflect.Value) error {
	if err := d.expect('['); err != nil {
		return err
	}
	re, err := d.float(c.bits)
	if err != nil {
		return err
	}
	if err := d.expect(','); err != nil {
		return err
	}
	im, err := d.float(c.bits)
	if err != nil {
		return err
	}
	v.SetComplex(complex(re, im))
	return d.expect(']')
}

type stringCodec struct{}

func (stringCodec) encode(e *encoder, v reflect.Value) error {
	e.text(v.String())
	return nil
}

func (stringCodec) decode(d *decoder, v reflect.Value) error {
	s, err := d.string()
	v.SetString(s)
	return err
}

// bytesCodec writes a slice of bytes as one string.
type bytesCodec struct{}

func (bytesCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	e.bytes(v.Bytes())
	return nil
}

func (bytesCodec) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		return nil
	}
	b, err := d.bytes()
	v.SetBytes(b)
	return err
}

type byteArrayCodec struct{}

func (byteArrayCodec) encode(e *encoder, v reflect.Value) error {
	e.bytes(addressable(v).Bytes())
	return nil
}

func (byteArrayCodec) decode(d *decoder, v reflect.Value) error {
	b, err := d.bytes()
	if err != nil {
		return err
	}
	if len(b) != v.Len() {
		return d.errorf("%d bytes for %s", len(b), v.Type())
	}
	copy(v.Bytes(), b)
	return nil
}

// unsupportedCodec is for functions, channels and unsafe pointers. Nil ones are no loss.
type unsupportedCodec struct{ typ reflect.Type }

func (c unsupportedCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	return fmt.Errorf("cannot serialize a value of type %s", c.typ)
}

func (c unsupportedCodec) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		return nil
	}
	return d.errorf("cannot decode a value of type %s", c.typ)
}
