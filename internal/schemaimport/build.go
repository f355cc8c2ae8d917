package schemaimport

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

type jsonNumber = json.Number

// build makes the Schema. A keyword that it has no field for, or whose value has another form than the field, goes to
// the Extras, which are written again beside the fields.
func build(n *node) *jsonschema.Schema {
	if n.is(true) {
		s := *jsonschema.TrueSchema
		return &s
	}
	if n.is(false) {
		s := *jsonschema.FalseSchema
		return &s
	}
	s := &jsonschema.Schema{}
	for _, m := range n.members {
		if !setKeyword(s, m.name, m.value) {
			if s.Extras == nil {
				s.Extras = map[string]any{}
			}
			s.Extras[m.name] = m.value.value()
		}
	}
	return s
}

// setKeyword sets the field of a keyword and reports whether there is one for the value.
func setKeyword(s *jsonschema.Schema, name string, v *node) bool {
	if set, ok := fields[name]; ok {
		return set(s, v)
	}
	return false
}

type setter = func(s *jsonschema.Schema, v *node) bool

// fields has how to set the field of each keyword.
var fields map[string]setter

func init() {
	fields = map[string]setter{
		"$id":         text(func(s *jsonschema.Schema) *jsonschema.ID { return &s.ID }),
		"$anchor":     text(func(s *jsonschema.Schema) *string { return &s.Anchor }),
		"$ref":        setRef,
		"$dynamicRef": text(func(s *jsonschema.Schema) *string { return &s.DynamicRef }),
		"$comment":    text(func(s *jsonschema.Schema) *string { return &s.Comments }),
		"type":        setType,

		"allOf":       list(func(s *jsonschema.Schema) *[]*jsonschema.Schema { return &s.AllOf }),
		"anyOf":       list(func(s *jsonschema.Schema) *[]*jsonschema.Schema { return &s.AnyOf }),
		"oneOf":       list(func(s *jsonschema.Schema) *[]*jsonschema.Schema { return &s.OneOf }),
		"prefixItems": list(func(s *jsonschema.Schema) *[]*jsonschema.Schema { return &s.PrefixItems }),

		"not":                  single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Not }),
		"if":                   single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.If }),
		"then":                 single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Then }),
		"else":                 single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Else }),
		"items":                single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Items }),
		"contains":             single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.Contains }),
		"additionalProperties": single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.AdditionalProperties }),
		"propertyNames":        single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.PropertyNames }),
		"contentSchema":        single(func(s *jsonschema.Schema) **jsonschema.Schema { return &s.ContentSchema }),

		"$defs": named(func(s *jsonschema.Schema) *map[string]*jsonschema.Schema {
			return (*map[string]*jsonschema.Schema)(&s.Definitions)
		}),
		"dependentSchemas":  named(func(s *jsonschema.Schema) *map[string]*jsonschema.Schema { return &s.DependentSchemas }),
		"patternProperties": named(func(s *jsonschema.Schema) *map[string]*jsonschema.Schema { return &s.PatternProperties }),
		"properties":        setProperties,
		"dependentRequired": setDependentRequired,
		"required":          setRequired,

		"enum":     setEnum,
		"examples": setExamples,
		"const":    setAny(func(s *jsonschema.Schema) *any { return &s.Const }),
		"default":  setAny(func(s *jsonschema.Schema) *any { return &s.Default }),

		"multipleOf": numeric(func(s *jsonschema.Schema) *jsonNumber { return &s.MultipleOf }),
		"maximum":    numeric(func(s *jsonschema.Schema) *jsonNumber { return &s.Maximum }),
		"minimum":    numeric(func(s *jsonschema.Schema) *jsonNumber { return &s.Minimum }),
		"exclusiveMaximum": numeric(func(s *jsonschema.Schema) *jsonNumber {
			return &s.ExclusiveMaximum
		}),
		"exclusiveMinimum": numeric(func(s *jsonschema.Schema) *jsonNumber {
			return &s.ExclusiveMinimum
		}),

		"maxLength":     count(func(s *jsonschema.Schema) **uint64 { return &s.MaxLength }),
		"minLength":     count(func(s *jsonschema.Schema) **uint64 { return &s.MinLength }),
		"maxItems":      count(func(s *jsonschema.Schema) **uint64 { return &s.MaxItems }),
		"minItems":      count(func(s *jsonschema.Schema) **uint64 { return &s.MinItems }),
		"maxContains":   count(func(s *jsonschema.Schema) **uint64 { return &s.MaxContains }),
		"minContains":   count(func(s *jsonschema.Schema) **uint64 { return &s.MinContains }),
		"maxProperties": count(func(s *jsonschema.Schema) **uint64 { return &s.MaxProperties }),
		"minProperties": count(func(s *jsonschema.Schema) **uint64 { return &s.MinProperties }),

		"pattern":          text(func(s *jsonschema.Schema) *string { return &s.Pattern }),
		"format":           text(func(s *jsonschema.Schema) *string { return &s.Format }),
		"contentEncoding":  text(func(s *jsonschema.Schema) *string { return &s.ContentEncoding }),
		"contentMediaType": text(func(s *jsonschema.Schema) *string { return &s.ContentMediaType }),
		"title":            text(func(s *jsonschema.Schema) *string { return &s.Title }),
		"description":      text(func(s *jsonschema.Schema) *string { return &s.Description }),

		"uniqueItems": flag(func(s *jsonschema.Schema) *bool { return &s.UniqueItems }),
		"deprecated":  flag(func(s *jsonschema.Schema) *bool { return &s.Deprecated }),
		"readOnly":    flag(func(s *jsonschema.Schema) *bool { return &s.ReadOnly }),
		"writeOnly":   flag(func(s *jsonschema.Schema) *bool { return &s.WriteOnly }),
	}
}

// text sets a field of a text. An empty one would not be written again.
func text[S ~string](field func(*jsonschema.Schema) *S) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		value, ok := v.text()
		if !ok || value == "" {
			return false
		}
		*field(s) = S(value)
		return true
	}
}

func flag(field func(*jsonschema.Schema) *bool) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		*field(s) = v.is(true)
		return v.is(true)
	}
}

func numeric(field func(*jsonschema.Schema) *jsonNumber) setter {
	return func(s *jsonschema.Schema, v *node) (ok bool) {
		*field(s), ok = v.number()
		return ok
	}
}

// count sets a number that must be whole, which 1.0 and 1e2 are as well.
func count(field func(*jsonschema.Schema) **uint64) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		number, ok := v.number()
		if !ok || len(number) > 24 || exponent(number) > 24 {
			return false
		}
		whole, ok := new(big.Rat).SetString(number.String())
		if !ok || !whole.IsInt() || !whole.Num().IsUint64() {
			return false
		}
		n := whole.Num().Uint64()
		*field(s) = &n
		return true
	}
}

// exponent bounds what a number could cost.
func exponent(n jsonNumber) int {
	_, digits, found := strings.Cut(strings.ToLower(n.String()), "e")
	if !found {
		return 0
	}
	digits = strings.TrimLeft(digits, "+-0")
	if len(digits) > 2 {
		return 100
	}
	e := 0
	for _, r := range digits {
		e = 10*e + int(r-'0')
	}
	return e
}

func single(field func(*jsonschema.Schema) **jsonschema.Schema) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		if !v.isSchema() {
			return false
		}
		*field(s) = build(v)
		return true
	}
}

func list(field func(*jsonschema.Schema) *[]*jsonschema.Schema) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		if v.kind != isArray || len(v.elems) == 0 {
			return false
		}
		all := make([]*jsonschema.Schema, 0, len(v.elems))
		for _, e := range v.elems {
			if !e.isSchema() {
				return false
			}
			all = append(all, build(e))
		}
		*field(s) = all
		return true
	}
}

func named(field func(*jsonschema.Schema) *map[string]*jsonschema.Schema) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		if v.kind != isObject || len(v.members) == 0 {
			return false
		}
		all := make(map[string]*jsonschema.Schema, len(v.members))
		for _, m := range v.members {
			if !m.value.isSchema() {
				return false
			}
			all[m.name] = build(m.value)
		}
		*field(s) = all
		return true
	}
}

func setProperties(s *jsonschema.Schema, v *node) bool {
	if v.kind != isObject {
		return false
	}
	properties := jsonschema.NewProperties()
	for _, m := range v.members {
		if !m.value.isSchema() {
			return false
		}
		properties.Set(m.name, build(m.value))
	}
	s.Properties = properties
	return true
}

func setDependentRequired(s *jsonschema.Schema, v *node) bool {
	if v.kind != isObject || len(v.members) == 0 {
		return false
	}
	all := make(map[string][]string, len(v.members))
	for _, m := range v.members {
		names, ok := m.value.strings()
		if !ok {
			return false
		}
		all[m.name] = names
	}
	s.DependentRequired = all
	return true
}

func setRequired(s *jsonschema.Schema, v *node) bool {
	names, ok := v.strings()
	if ok = ok && len(names) > 0; ok {
		s.Required = names
	}
	return ok
}

// setRef sets a reference. The empty one is to the document itself.
func setRef(s *jsonschema.Schema, v *node) bool {
	ref, ok := v.text()
	if ref == "" {
		ref = "#"
	}
	if ok {
		s.Ref = ref
	}
	return ok
}

var typeNames = map[string]bool{
	"array": true, "boolean": true, "integer": true, "null": true, "number": true, "object": true, "string": true,
}

func setType(s *jsonschema.Schema, v *node) bool {
	if name, ok := v.text(); ok && typeNames[name] {
		s.Type = name
		return true
	}
	names, ok := v.strings()
	for _, name := range names {
		ok = ok && typeNames[name]
	}
	if ok = ok && len(names) > 0; ok {
		s.TypeEnhanced = names
	}
	return ok
}

func setEnum(s *jsonschema.Schema, v *node) bool     { return setValues(&s.Enum, v) }
func setExamples(s *jsonschema.Schema, v *node) bool { return setValues(&s.Examples, v) }

func setValues(field *[]any, v *node) bool {
	if v.kind != isArray || len(v.elems) == 0 {
		return false
	}
	*field = v.value().([]any)
	return true
}

// setAny sets a value. null would not be written again.
func setAny(field func(*jsonschema.Schema) *any) setter {
	return func(s *jsonschema.Schema, v *node) bool {
		*field(s) = v.value()
		return *field(s) != nil
	}
}
