package structured

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-contrib/jsonschema"
)

// validate says what is wrong with a decoded value. Schemas that were inferred have no references.
func validate(s *jsonschema.Schema, v any, path string) (problems []string) {
	if s == nil {
		return nil
	}
	wrong := func(format string, args ...any) {
		problems = append(problems, at(path)+fmt.Sprintf(format, args...))
	}
	if types := typesOf(s); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(t, v) }) {
		wrong("must be of type %s, and is %s", strings.Join(types, " or "), typeOf(v))
		return problems
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return same(e, v) }) {
		wrong("must be one of %v", s.Enum)
	}
	if s.Const != nil && !same(s.Const, v) {
		wrong("must be %v", s.Const)
	}
	for _, all := range s.AllOf {
		problems = append(problems, validate(all, v, path)...)
	}
	for _, some := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(some) > 0 && !slices.ContainsFunc(some, func(o *jsonschema.Schema) bool { return len(validate(o, v, path)) == 0 }) {
			wrong("fits none of the alternatives")
		}
	}
	switch v := v.(type) {
	case map[string]any:
		problems = append(problems, validateObject(s, v, path)...)
	case []any:
		problems = append(problems, validateArray(s, v, path)...)
	case string:
		problems = append(problems, validateString(s, v, path)...)
	case float64:
		problems = append(problems, validateNumber(s, v, path)...)
	}
	return problems
}

func at(path string) string {
	if path == "" {
		return "the value "
	}
	return strings.TrimPrefix(path, ".") + " "
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.TypeEnhanced
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
	if n, ok := v.(float64); ok && t == "integer" {
		return n == math.Trunc(n)
	}
	return typeOf(v) == t
}

// same compares a value of a schema with one that was decoded.
func same(want, got any) bool {
	doc, err := json.Marshal(want)
	if err != nil {
		return false
	}
	var decoded any
	return json.Unmarshal(doc, &decoded) == nil && reflect.DeepEqual(decoded, got)
}

func validateObject(s *jsonschema.Schema, v map[string]any, path string) (problems []string) {
	for _, name := range s.Required {
		if !has(v, name) {
			problems = append(problems, at(path+"."+name)+"is missing")
		}
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property, known := (*jsonschema.Schema)(nil), false
		if s.Properties != nil {
			property, known = s.Properties.Get(name)
		}
		switch {
		case known && v[name] == nil && !slices.Contains(s.Required, name):
			// null stands for a property that is left out
		case known:
			problems = append(problems, validate(property, v[name], path+"."+name)...)
		case isFalse(s.AdditionalProperties):
			problems = append(problems, at(path+"."+name)+"is unknown")
		default:
			problems = append(problems, validate(s.AdditionalProperties, v[name], path+"."+name)...)
		}
	}
	return problems
}

// isFalse reports whether a schema takes nothing.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	doc, err := json.Marshal(s)
	return err == nil && string(doc) == "false"
}

func validateArray(s *jsonschema.Schema, v []any, path string) (problems []string) {
	if s.MinItems != nil && uint64(len(v)) < *s.MinItems {
		problems = append(problems, at(path)+fmt.Sprintf("must have at least %d elements", *s.MinItems))
	}
	if s.MaxItems != nil && uint64(len(v)) > *s.MaxItems {
		problems = append(problems, at(path)+fmt.Sprintf("must have at most %d elements", *s.MaxItems))
	}
	for i := range v {
		problems = append(problems, validate(s.Items, v[i], fmt.Sprintf("%s[%d]", path, i))...)
	}
	return problems
}

func validateString(s *jsonschema.Schema, v string, path string) (problems []string) {
	n := uint64(utf8.RuneCountInString(v))
	if s.MinLength != nil && n < *s.MinLength {
		problems = append(problems, at(path)+fmt.Sprintf("must have at least %d characters", *s.MinLength))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		problems = append(problems, at(path)+fmt.Sprintf("must have at most %d characters", *s.MaxLength))
	}
	if s.Pattern != "" {
		if p, err := regexp.Compile(s.Pattern); err == nil && !p.MatchString(v) {
			problems = append(problems, at(path)+"must match "+s.Pattern)
		}
	}
	return problems
}

func validateNumber(s *jsonschema.Schema, v float64, path string) (problems []string) {
	for _, limit := range []struct {
		of   json.Number
		ok   func(limit float64) bool
		must string
	}{
		{s.Minimum, func(l float64) bool { return v >= l }, "must be at least "},
		{s.Maximum, func(l float64) bool { return v <= l }, "must be at most "},
		{s.ExclusiveMinimum, func(l float64) bool { return v > l }, "must be more than "},
		{s.ExclusiveMaximum, func(l float64) bool { return v < l }, "must be less than "},
	} {
		if l, err := limit.of.Float64(); err == nil && !limit.ok(l) {
			problems = append(problems, at(path)+limit.must+limit.of.String())
		}
	}
	return problems
}
