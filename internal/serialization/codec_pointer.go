package serialization

import "reflect"

// pointerCodec writes nil as null and otherwise the target; in a list, if the target could be null, too.
type pointerCodec struct {
	elem    codec
	wrapped bool
}

func (c *pointerCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	if err := e.enter(v); err != nil {
		return err
	}
	defer e.leave(v)
	if !c.wrapped {
		return c.elem.encode(e, v.Elem())
	}
	e.buf = append(e.buf, '[')
	if err := c.elem.encode(e, v.Elem()); err != nil {
		return err
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (c *pointerCodec) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	target, err := d.newValue(v.Type().Elem())
	if err != nil {
		return err
	}
	if c.wrapped {
		if err := d.expect('['); err != nil {
			return err
		}
	}
	if err := c.elem.decode(d, target); err != nil {
		return err
	}
	v.Set(target.Addr())
	if c.wrapped {
		return d.expect(']')
	}
	return nil
}

// interfaceCodec writes values with their types.
type interfaceCodec struct{}

func (interfaceCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	return e.any(v.Interface())
}

func (interfaceCodec) decode(d *decoder, v reflect.Value) error {
	got, err := d.any()
	if err != nil || got == nil {
		return err
	}
	return assignTo(v, reflect.ValueOf(got))
}
