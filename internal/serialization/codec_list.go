package serialization

import "reflect"

type sliceCodec struct{ elem codec }

func (c *sliceCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	if err := e.enter(v); err != nil {
		return err
	}
	defer e.leave(v)
	return e.list(c.elem, v)
}

// list writes the elements of a slice or an array.
func (e *encoder) list(elem codec, v reflect.Value) error {
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := elem.encode(e, v.Index(i)); err != nil {
			return atIndex(err, i)
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (c *sliceCodec) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.expect('['); err != nil {
		return err
	}
	elemSize := inlineElems(v.Type().Elem())
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; ; i++ {
		more, err := d.more(']', i == 0)
		if err != nil || !more {
			return err
		}
		if elemSize > len(d.data)-d.pos {
			return d.errorf("array of %d elements is bigger than its data", elemSize)
		}
		if i == v.Cap() {
			v.Grow(max(1, min(i, 1+(len(d.data)-d.pos)/2)))
		}
		v.SetLen(i + 1)
		if err := c.elem.decode(d, v.Index(i)); err != nil {
			return atIndex(err, i)
		}
	}
}

type arrayCodec struct{ elem codec }

func (c *arrayCodec) encode(e *encoder, v reflect.Value) error { return e.list(c.elem, v) }

func (c *arrayCodec) decode(d *decoder, v reflect.Value) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.expect('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := d.more(']', i == 0)
		switch {
		case err != nil:
			return err
		case !more && i == v.Len():
			return nil
		case !more || i == v.Len():
			return d.errorf("wrong number of elements for %s", v.Type())
		}
		if err := c.elem.decode(d, v.Index(i)); err != nil {
			return atIndex(err, i)
		}
	}
}
