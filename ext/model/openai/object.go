package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// An object is a JSON object whose fields are written in the order in which they were set: equal conversations give
// equal bytes, which is what prompt caches go by, and a field that this package does not know can be put anywhere.
type object []field

type field struct {
	key   string
	value any
}

// set sets or replaces a field. A nil value removes it.
func (o *object) set(key string, value any) {
	i := slices.IndexFunc(*o, func(f field) bool { return f.key == key })
	switch {
	case value == nil && i >= 0:
		*o = slices.Delete(*o, i, i+1)
	case value == nil:
	case i >= 0:
		(*o)[i].value = value
	default:
		*o = append(*o, field{key, value})
	}
}

// setText sets a field unless the text is empty.
func (o *object) setText(key, text string) {
	if text != "" {
		o.set(key, text)
	}
}

// merge sets fields that came from outside, in the order of their names.
func (o *object) merge(fields map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		o.set(key, fields[key])
	}
}

// setPtr sets a field unless the pointer is nil.
func setPtr[T any](o *object, key string, value *T) {
	if value != nil {
		o.set(key, *value)
	}
}

func (o object) encode() ([]byte, error) {
	var w objectWriter
	w.values = json.NewEncoder(&w.buf)
	w.values.SetEscapeHTML(false)
	if err := w.object(o); err != nil {
		return nil, err
	}
	return w.buf.Bytes(), nil
}

// An objectWriter writes objects in their order and everything else as encoding/json does, without escaping HTML.
type objectWriter struct {
	buf    bytes.Buffer
	values *json.Encoder // into buf
}

func (w *objectWriter) object(o object) error {
	w.buf.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		if err := w.value(f.key); err != nil {
			return err
		}
		w.buf.WriteByte(':')
		if err := w.value(f.value); err != nil {
			return fmt.Errorf("field %q: %w", f.key, err)
		}
	}
	w.buf.WriteByte('}')
	return nil
}

func (w *objectWriter) value(v any) error {
	switch v := v.(type) {
	case object:
		return w.object(v)
	case []object:
		return w.list(v)
	}
	if err := w.values.Encode(v); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1) // the encoder's newline
	return nil
}

func (w *objectWriter) list(items []object) error {
	w.buf.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		if err := w.object(item); err != nil {
			return err
		}
	}
	w.buf.WriteByte(']')
	return nil
}
