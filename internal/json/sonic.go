//go:build !weft_stdjson

package json

import "github.com/bytedance/sonic"

// sorted keeps map keys in order (stable prompts and checkpoints), leaves <, > and & alone, and copies strings so
// that a decoded value never pins the input.
var sorted = sonic.Config{
	SortMapKeys:      true,
	CompactMarshaler: true,
	CopyString:       true,
	ValidateString:   true,
}.Froze()

// Marshal encodes v: map keys sorted, HTML characters not escaped.
func Marshal(v any) ([]byte, error) { return sorted.Marshal(v) }

// MarshalString is Marshal to a string.
func MarshalString(v any) (string, error) { return sorted.MarshalToString(v) }

// Unmarshal decodes exactly one JSON value; trailing data is an error.
func Unmarshal(data []byte, v any) error { return sorted.Unmarshal(data, v) }

// UnmarshalString is Unmarshal of a string.
func UnmarshalString(s string, v any) error { return sorted.UnmarshalFromString(s, v) }
