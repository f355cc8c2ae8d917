// Package json is the one place that decides which JSON implementation Weft runs on.
//
// Everything that encodes or decodes JSON imports it instead of a concrete library: sonic by default, encoding/json
// with the build tag weft_stdjson (for platforms and audits that rule out a JIT).
// It must never grow behaviour of its own: both implementations have to give the same results.
package json

import "encoding/json"

// RawMessage is the standard library's, so that it means the same under both implementations.
type RawMessage = json.RawMessage

// Number is the standard library's.
type Number = json.Number

// Valid reports whether data is one JSON value.
func Valid(data []byte) bool { return json.Valid(data) }
