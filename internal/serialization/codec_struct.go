package serialization

import "reflect"

// structCodec writes the exported fields that are not zero, by their Go names.
type structCodec struct {
	fields []field
	byName map[string]int // index of fields
}

type field struct {
	name  string
	head  string // `"name":`
	index int
	codec codec
}

func makeStructCodec(b building[codec], t reflect.Type) codec {
	c := &structCodec{byName: map[string]int{}}
	b.add(t, c)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		c.byName[f.Name] = len(c.fields)
		c.fields = append(c.fields, field{name: f.Name, head: `"` + f.Name + `":`, index: i, codec: b.of(f.Type)})
	}
	return c
}

func (c *structCodec) encode(e *encoder, v reflect.Value) error {
	e.buf = append(e.buf, '{')
	first := true
	for i := range c.fields {
		f := &c.fields[i]
		value := v.Field(f.index)
		if value.IsZero() {
			continue
		}
		if !first {
			e.buf = append(e.buf, ',')
		}
		first = false
		e.buf = append(e.buf, f.head...)
		if err := f.codec.encode(e, value); err != nil {
			return within(err, "."+f.name)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

func (c *structCodec) decode(d *decoder, v reflect.Value) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if d.outer == 0 {
		d.outer = d.depth
	}
	if err := d.expect('{'); err != nil {
		return err
	}
	next := 0 // the fields come in order, as a rule
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil || !more {
			return err
		}
		name, err := d.text()
		if err != nil {
			return err
		}
		i := c.find(name, next)
		if err := d.expect(':'); err != nil {
			return err
		}
		if i < 0 {
			if d.strict && d.depth == d.outer {
				return d.errorf("there is no field %q", name)
			}
			if _, err := d.raw(); err != nil {
				return err
			}
			continue
		}
		f := &c.fields[i]
		next = i + 1
		if err := f.codec.decode(d, cleared(v.Field(f.index))); err != nil {
			return within(err, "."+f.name)
		}
	}
}

// find returns the index of a field, which is likely to be one of the next.
func (c *structCodec) find(name []byte, next int) int {
	for i := next; i < len(c.fields) && i < next+4; i++ {
		if c.fields[i].name == string(name) {
			return i
		}
	}
	if i, ok := c.byName[string(name)]; ok {
		return i
	}
	return -1
}

// cleared returns v, zero: a field may come twice.
func cleared(v reflect.Value) reflect.Value {
	if !v.IsZero() {
		v.SetZero()
	}
	return v
}
