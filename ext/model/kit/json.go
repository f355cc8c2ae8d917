package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// An Object is a JSON object whose fields are written in the order in which they were set: equal conversations give
// equal bytes, which is what prompt caches go by, and a field that an adapter does not know can be put anywhere.
type Object []Field

// A Field is a field of an [Object].
type Field struct {
	Key   string
	Value any
}

// Get returns the value of a field, nil if there is none.
func (o Object) Get(key string) any {
	for _, f := range o {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Set sets or replaces a field. A nil value removes it.
func (o *Object) Set(key string, value any) {
	i := slices.IndexFunc(*o, func(f Field) bool { return f.Key == key })
	switch {
	case value == nil && i >= 0:
		*o = slices.Delete(*o, i, i+1)
	case value == nil:
	case i >= 0:
		(*o)[i].Value = value
	default:
		*o = append(*o, Field{key, value})
	}
}

// SetText sets a field unless the text is empty.
func (o *Object) SetText(key, text string) {
	if text != "" {
		o.Set(key, text)
	}
}

// SetPtr sets a field unless the pointer is nil.
func SetPtr[T any](o *Object, key string, value *T) {
	if value != nil {
		o.Set(key, *value)
	}
}

// Merge sets fields that came from outside, in the order of their names; nil values remove fields.
func (o *Object) Merge(fields map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		o.Set(key, fields[key])
	}
}

// MarshalJSON implements [json.Marshaler].
func (o Object) MarshalJSON() ([]byte, error) { return o.Encode() }

// Encode returns the JSON text. Nested objects and lists of objects keep their order, everything else is written as
// encoding/json does, but without escaping HTML.
func (o Object) Encode() ([]byte, error) { return Encode(o) }

// Encode is [Object.Encode] for any value.
func Encode(v any) ([]byte, error) {
	var w objectWriter
	w.values = json.NewEncoder(&w.buf)
	w.values.SetEscapeHTML(false)
	if err := w.value(v); err != nil {
		return nil, err
	}
	return w.buf.Bytes(), nil
}

type objectWriter struct {
	buf    bytes.Buffer
	values *json.Encoder // into buf
}

func (w *objectWriter) object(o Object) error {
	w.buf.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		if err := w.value(f.Key); err != nil {
			return err
		}
		w.buf.WriteByte(':')
		if err := w.value(f.Value); err != nil {
			return fmt.Errorf("field %q: %w", f.Key, err)
		}
	}
	w.buf.WriteByte('}')
	return nil
}

func (w *objectWriter) value(v any) error {
	switch v := v.(type) {
	case Object:
		return w.object(v)
	case []Object:
		return list(w, v)
	case []any:
		return list(w, v)
	case json.RawMessage:
		if json.Valid(v) {
			return w.raw(v)
		}
	}
	if err := w.values.Encode(v); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1) // the encoder's newline
	return nil
}

// raw writes JSON text as it is, but in one line.
func (w *objectWriter) raw(text json.RawMessage) error { return json.Compact(&w.buf, text) }

func list[T any](w *objectWriter, items []T) error {
	w.buf.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		if err := w.value(item); err != nil {
			return err
		}
	}
	w.buf.WriteByte(']')
	return nil
}

// DecodeOrdered decodes JSON text into Object, []any, string, json.Number, bool and nil: nothing of it is lost, neither
// the order of fields nor digits.
func DecodeOrdered(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the JSON value")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth > maxDepth {
		return nil, errors.New("the JSON value is nested too deep")
	}
	if delim == '[' {
		items := []any{}
		for dec.More() {
			item, err := decodeValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := dec.Token()
		return items, err
	}
	o := Object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder lets nothing else through
		o = append(o, Field{name, value})
	}
	_, err = dec.Token()
	return o, err
}

// ObjectOf returns the object with these fields: a key and a value for each.
func ObjectOf(keysAndValues ...any) Object {
	o := make(Object, 0, len(keysAndValues)/2)
	for i := 0; i < len(keysAndValues); i += 2 {
		o = append(o, Field{keysAndValues[i].(string), keysAndValues[i+1]})
	}
	return o
}
