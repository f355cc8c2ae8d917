//go:build weft_stdjson

package json

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes v: map keys sorted, HTML characters not escaped.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// MarshalString is Marshal to a string.
func MarshalString(v any) (string, error) {
	b, err := Marshal(v)
	return string(b), err
}

// Unmarshal decodes exactly one JSON value; trailing data is an error.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// UnmarshalString is Unmarshal of a string.
func UnmarshalString(s string, v any) error { return json.Unmarshal([]byte(s), v) }
