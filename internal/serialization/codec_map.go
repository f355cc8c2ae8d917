package serialization

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// mapCodec writes a map sorted by its keys: as an object if they are strings of valid UTF-8, else as a list of pairs.
type mapCodec struct {
	key, elem codec
	named     bool // keys are plain strings
}

func makeMapCodec(b building[codec], t reflect.Type) codec {
	if t == reflect.TypeFor[map[string]any]() {
		return anyMapCodec{}
	}
	c := &mapCodec{named: t.Key().Kind() == reflect.String && !isOpaque(t.Key())}
	b.add(t, c)
	c.key, c.elem = b.of(t.Key()), b.of(t.Elem())
	return c
}

func (c *mapCodec) encode(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.null()
		return nil
	}
	if err := e.enter(v); err != nil {
		return err
	}
	defer e.leave(v)
	if c.named {
		if entries, ok := namedEntries(v); ok {
			return c.object(e, entries)
		}
	}
	return c.pairs(e, v)
}

type namedEntry struct {
	name string
	elem reflect.Value
}

func namedEntries(v reflect.Value) ([]namedEntry, bool) {
	entries := make([]namedEntry, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		name := iter.Key().String()
		if !utf8.ValidString(name) {
			return nil, false
		}
		entries = append(entries, namedEntry{name, iter.Value()})
	}
	slices.SortFunc(entries, func(a, b namedEntry) int { return strings.Compare(a.name, b.name) })
	return entries, true
}

func (c *mapCodec) object(e *encoder, entries []namedEntry) error {
	e.buf = append(e.buf, '{')
	for i, entry := range entries {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.quoted(entry.name)
		e.buf = append(e.buf, ':')
		if err := c.elem.encode(e, entry.elem); err != nil {
			return atKey(err, entry.name)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// pairs writes every pair behind what is in the buffer and then puts them in order.
func (c *mapCodec) pairs(e *encoder, v reflect.Value) error {
	start := len(e.buf)
	var pairs [][]byte
	for iter := v.MapRange(); iter.Next(); {
		e.buf = append(e.buf[:start], '[')
		if err := c.key.encode(e, iter.Key()); err != nil {
			return atMapKey(err, iter.Key())
		}
		e.buf = append(e.buf, ',')
		if err := c.elem.encode(e, iter.Value()); err != nil {
			return atMapKey(err, iter.Key())
		}
		pairs = append(pairs, append(bytes.Clone(e.buf[start:]), ']'))
	}
	slices.SortFunc(pairs, bytes.Compare)
	e.buf = append(e.buf[:start], '[')
	e.buf = append(e.buf, bytes.Join(pairs, []byte{','})...)
	e.buf = append(e.buf, ']')
	return nil
}

func (c *mapCodec) decode(d *decoder, v reflect.Value) error {
	if d.null() {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	v.Set(reflect.MakeMap(v.Type()))
	k, err := d.newValue(v.Type().Key())
	if err != nil {
		return err
	}
	if c.named && d.peek() == '{' {
		return c.decodeObject(d, v, k)
	}
	return c.decodePairs(d, v, k)
}

func (c *mapCodec) decodeObject(d *decoder, v, k reflect.Value) error {
	d.pos++
	var elem reflect.Value
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil || !more {
			return err
		}
		name, err := d.text()
		if err != nil {
			return err
		}
		k.SetString(string(name))
		if err := d.expect(':'); err != nil {
			return err
		}
		if elem, err = d.reuse(elem, v.Type().Elem()); err != nil {
			return err
		}
		if err := c.elem.decode(d, elem); err != nil {
			return atKey(err, k.String())
		}
		v.SetMapIndex(k, elem)
	}
}

func (c *mapCodec) decodePairs(d *decoder, v, k reflect.Value) error {
	if err := d.expect('['); err != nil {
		return err
	}
	var elem reflect.Value
	for i := 0; ; i++ {
		more, err := d.more(']', i == 0)
		if err != nil || !more {
			return err
		}
		if err := d.expect('['); err != nil {
			return err
		}
		k.SetZero()
		if err := c.key.decode(d, k); err != nil {
			return atIndex(err, i)
		}
		if !k.Comparable() {
			return atIndex(d.errorf("%s cannot be a map key", k), i)
		}
		if err := d.expect(','); err != nil {
			return err
		}
		if elem, err = d.reuse(elem, v.Type().Elem()); err != nil {
			return err
		}
		if err := c.elem.decode(d, elem); err != nil {
			return atIndex(err, i)
		}
		v.SetMapIndex(k, elem)
		if err := d.expect(']'); err != nil {
			return err
		}
	}
}

// reuse returns a zero value of t: v, if there is one.
func (d *decoder) reuse(v reflect.Value, t reflect.Type) (reflect.Value, error) {
	if !v.IsValid() {
		return d.newValue(t)
	}
	v.SetZero()
	return v, nil
}

// anyMapCodec is the codec of map[string]any, mostly without reflection.
type anyMapCodec struct{}

// anyPairs writes maps that cannot be objects.
var anyPairs = &mapCodec{key: stringCodec{}, elem: interfaceCodec{}}

func (anyMapCodec) encode(e *encoder, v reflect.Value) error {
	m := v.Interface().(map[string]any)
	switch {
	case m == nil:
		e.null()
		return nil
	case isObject(m):
		return e.object(m)
	}
	return anyPairs.encode(e, v)
}

func (anyMapCodec) decode(d *decoder, v reflect.Value) error {
	if d.peek() != '{' {
		return anyPairs.decode(d, v)
	}
	m, err := d.object()
	v.Set(reflect.ValueOf(m))
	return err
}

// isObject reports whether m can be written as an object.
func isObject(m map[string]any) bool {
	for k := range m {
		if !utf8.ValidString(k) {
			return false
		}
	}
	return m != nil
}

// object writes a map that isObject.
func (e *encoder) object(m map[string]any) error {
	if err := e.enter(reflect.ValueOf(m)); err != nil {
		return err
	}
	defer e.leave(reflect.ValueOf(m))
	start := len(e.keys) // a stack: the map may be inside another
	for k := range m {
		e.keys = append(e.keys, k)
	}
	end := len(e.keys)
	slices.Sort(e.keys[start:end])
	e.buf = append(e.buf, '{')
	for i := start; i < end; i++ {
		if i > start {
			e.buf = append(e.buf, ',')
		}
		k := e.keys[i]
		e.quoted(k)
		e.buf = append(e.buf, ':')
		if err := e.any(m[k]); err != nil {
			return atKey(err, k)
		}
	}
	e.buf = append(e.buf, '}')
	clear(e.keys[start:end])
	e.keys = e.keys[:start]
	return nil
}

// object takes an object as a map.
func (d *decoder) object() (map[string]any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	m := map[string]any{}
	if err := d.expect('{'); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil || !more {
			return m, err
		}
		text, err := d.text()
		if err != nil {
			return nil, err
		}
		name := string(text)
		if err := d.expect(':'); err != nil {
			return nil, err
		}
		if m[name], err = d.any(); err != nil {
			return nil, atKey(err, name)
		}
	}
}
