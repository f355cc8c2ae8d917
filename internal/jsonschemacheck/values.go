package jsonschemacheck

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-contrib/jsonschema"
)

// typesOf are the types that a schema names.
func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.TypeEnhanced
}

// typesOfAll lists the types of alternatives for a message, "" if they do not all name one.
func typesOfAll(alternatives []*jsonschema.Schema) string {
	var all []string
	for _, sub := range alternatives {
		if sub == nil || len(typesOf(sub)) == 0 {
			return ""
		}
		for _, t := range typesOf(sub) {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return " (" + strings.Join(all, ", ") + ")"
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "number"
}

func isType(t string, v any) bool {
	if t == "integer" {
		n, ok := numberOf(v)
		return ok && n.whole()
	}
	return typeOf(v) == t
}

func (w *walk) ofType(s *jsonschema.Schema, v any, path string) bool {
	types := typesOf(s)
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isType(t, v) }) {
		return true
	}
	w.wrong(path, fmt.Sprintf("must be of type %s, and is %s", strings.Join(types, " or "), typeOf(v)))
	return false
}

// listed holds a value against the values that a schema lists.
func (w *walk) listed(s *jsonschema.Schema, v any, path string) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return same(e, v) }) {
		w.wrong(path, "must be one of "+textOf(s.Enum))
	}
	want, isConst := s.Const, s.Const != nil
	if extra, ok := s.Extras["const"]; ok && extra == nil { // the field cannot hold null
		isConst = true
	}
	if isConst && !same(want, v) {
		w.wrong(path, "must be "+textOf([]any{want}))
	}
}

// textOf lists values as JSON.
func textOf(values []any) string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		doc, err := json.Marshal(v)
		if err != nil {
			doc = fmt.Append(nil, v)
		}
		texts = append(texts, string(doc))
	}
	return strings.Join(texts, ", ")
}

// same compares a value of a schema with one that was decoded.
func same(want, got any) bool {
	if reflect.DeepEqual(want, got) {
		return true
	}
	doc, err := json.Marshal(want)
	if err != nil {
		return false
	}
	want, err = Decode(string(doc))
	return err == nil && equal(want, got)
}

// Decode reads a text that is one JSON value, with its numbers as json.Number, which no digit of is lost.
func Decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more after the JSON value, at character %d", d.InputOffset())
	}
	return v, nil
}

// equal compares decoded values: numbers by what they are, however they are written.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key := range x {
			if other, ok := y[key]; !ok || !equal(x[key], other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case nil, string, bool:
		return a == b
	}
	x, isNumber := numberOf(a)
	y, alike := numberOf(b)
	return isNumber && alike && x.compare(y) == 0
}

func (w *walk) text(s *jsonschema.Schema, v string, path string) {
	n := uint64(utf8.RuneCountInString(v))
	if s.MinLength != nil && n < *s.MinLength {
		w.wrong(path, fmt.Sprintf("must have at least %d characters", *s.MinLength))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		w.wrong(path, fmt.Sprintf("must have at most %d characters", *s.MaxLength))
	}
	if p := w.checker.patterns[s.Pattern]; p != nil && !p.MatchString(v) {
		w.wrong(path, "must match "+s.Pattern)
	}
}

// number is a JSON number: exact, if it is an integer of 64 bits.
type number struct {
	integer int64
	float   float64
	exact   bool
}

func numberOf(v any) (n number, ok bool) {
	switch v := v.(type) {
	case float64:
		n = number{float: v}
	case json.Number:
		f, err := v.Float64()
		if err != nil && !math.IsInf(f, 0) {
			return n, false
		}
		n.float = f
		if i, err := v.Int64(); err == nil {
			n.integer, n.exact = i, true
		}
	default:
		return n, false
	}
	if !n.exact && n.whole() && math.Abs(n.float) < 1<<53 {
		n.integer, n.exact = int64(n.float), true
	}
	return n, true
}

func (n number) whole() bool {
	return n.exact || n.float == math.Trunc(n.float) && !math.IsInf(n.float, 0)
}

func (n number) compare(other number) int {
	a, b := n.float, other.float
	if n.exact && other.exact {
		switch {
		case n.integer < other.integer:
			return -1
		case n.integer > other.integer:
			return 1
		}
		return 0
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// multipleOf reports whether n is a multiple of a number, as near as floating point allows.
func (n number) multipleOf(of number) bool {
	if n.exact && of.exact {
		return of.integer == 0 || n.integer%of.integer == 0
	}
	q := n.float / of.float
	return of.float == 0 || math.Abs(q-math.Round(q)) <= 1e-9*max(1, math.Abs(q))
}

func (w *walk) number(s *jsonschema.Schema, v number, path string) {
	for _, limit := range []struct {
		of   json.Number
		ok   func(limit number) bool
		must string
	}{
		{s.Minimum, func(l number) bool { return v.compare(l) >= 0 }, "must be at least "},
		{s.Maximum, func(l number) bool { return v.compare(l) <= 0 }, "must be at most "},
		{s.ExclusiveMinimum, func(l number) bool { return v.compare(l) > 0 }, "must be more than "},
		{s.ExclusiveMaximum, func(l number) bool { return v.compare(l) < 0 }, "must be less than "},
		{s.MultipleOf, v.multipleOf, "must be a multiple of "},
	} {
		if limit.of == "" {
			continue
		}
		if l, ok := numberOf(limit.of); ok && !limit.ok(l) {
			w.wrong(path, limit.must+limit.of.String())
		}
	}
}
