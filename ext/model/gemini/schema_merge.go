package gemini

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// mergeSchemas returns the schema of what both allow, as far as the keywords of one schema can say it. What a says about
// the schema, such as its description, counts.
func mergeSchemas(a, b kit.Object) kit.Object {
	if len(a) == 0 {
		return slices.Clone(b)
	}
	out := slices.Clone(a)
	for _, f := range b {
		mine := out.Get(f.Key)
		switch {
		case f.Key == "const" && enumOf(out) != nil, f.Key == "enum" && mine == nil && enumOf(out) != nil:
			// handled with enum below, or said already
		case mine == nil:
			out.Set(f.Key, f.Value)
		default:
			out.Set(f.Key, mergeKeyword(f.Key, mine, f.Value))
		}
	}
	return out
}

// mergeKeyword returns a value of a keyword that allows what both of its values do.
func mergeKeyword(key string, a, b any) any {
	switch key {
	case "properties":
		return mergeProperties(a, b)
	case "required":
		mine, _ := a.([]any)
		more, _ := b.([]any)
		return slices.Concat(mine, more) // duplicates are left out when it is written
	case "type":
		return commonTypes(a, b)
	case "enum":
		mine, _ := a.([]any)
		more, _ := b.([]any)
		both := slices.DeleteFunc(slices.Clone(mine), func(v any) bool {
			return !slices.ContainsFunc(more, func(w any) bool { return reflect.DeepEqual(v, w) })
		})
		if len(both) == 0 {
			return a
		}
		return both
	case "minimum", "minItems", "minLength", "exclusiveMinimum", "minProperties":
		return limit(a, b, 1)
	case "maximum", "maxItems", "maxLength", "exclusiveMaximum", "maxProperties":
		return limit(a, b, -1)
	case "items":
		return both(a, b)
	case "additionalProperties":
		if b == false {
			return b
		}
	case noteKey:
		return a.(string) + "; " + b.(string)
	}
	return a
}

func mergeProperties(a, b any) any {
	mine, _ := a.(kit.Object)
	more, _ := b.(kit.Object)
	out := slices.Clone(mine)
	for _, p := range more {
		if known := out.Get(p.Key); known != nil {
			p.Value = both(known, p.Value)
		}
		out.Set(p.Key, p.Value)
	}
	return out
}

// both returns a schema of what two schemas allow, which is merged when it is needed.
func both(a, b any) any {
	if reflect.DeepEqual(a, b) {
		return a
	}
	return kit.Object{{Key: "allOf", Value: []any{a, b}}}
}

func commonTypes(a, b any) any {
	mine := typesOf(kit.Object{{Key: "type", Value: a}})
	more := typesOf(kit.Object{{Key: "type", Value: b}})
	var common []any
	for _, t := range mine {
		switch {
		case slices.Contains(more, t), t == "integer" && slices.Contains(more, "number"):
			common = append(common, t)
		case t == "number" && slices.Contains(more, "integer"):
			common = append(common, "integer")
		}
	}
	if len(common) == 0 {
		return a
	}
	return common
}

// limit returns the larger of two numbers, or with sign -1 the smaller.
func limit(a, b any, sign float64) any {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if !ok1 || !ok2 {
		return a
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	if sign*g > sign*f {
		return b
	}
	return a
}

// structural are the keywords that say what a value is. Schemas without any of them allow everything that matters here.
var structural = []string{
	"type", "enum", "const", "properties", "items", "prefixItems", "anyOf", "oneOf", "minimum", "maximum", "minItems",
	"maxItems", "format", "additionalProperties", "pattern",
}

func isStructural(s kit.Object) bool {
	return slices.ContainsFunc(s, func(f kit.Field) bool { return slices.Contains(structural, f.Key) })
}

// annotations returns what a schema says about itself rather than about values.
func annotations(s schemaAt) schemaAt {
	return s.only(func(key string) bool {
		return key == "title" || key == "description" || key == noteKey || key == "default"
	})
}

func (s schemaAt) only(keep func(key string) bool) schemaAt {
	out := schemaAt{refs: s.refs}
	for _, f := range s.Object {
		if keep(f.Key) {
			out.Object = append(out.Object, f)
		}
	}
	return out
}

// alternatives returns the schemas of an anyOf or a oneOf, each with what stands beside it, and the rest for what is to
// be said about all of them. With less than two alternatives the rest is everything.
func (l *lowering) alternatives(s schemaAt, key string) (branches []schemaAt, rest schemaAt) {
	list, _ := s.Get(key).([]any)
	base := s.only(func(k string) bool { return k != key })
	base.Object = slices.Clone(base.Object)
	vacuous := len(list) == 0
	var names []string
	for _, v := range list {
		b := l.expand(v, s.refs)
		if !isStructural(b.Object) {
			vacuous = true
			names = append(names, requiredNames(b.Object)...)
		}
		branches = append(branches, b)
	}
	if vacuous {
		if len(names) > 0 {
			note := "requires " + strings.Join(names, " or ")
			base.Object = mergeSchemas(base.Object, kit.Object{{Key: noteKey, Value: note}})
		}
		return nil, base
	}
	if len(branches) == 1 {
		return nil, schemaAt{mergeSchemas(base.Object, branches[0].Object), branches[0].refs}
	}
	rest = annotations(base)
	own := base.only(func(k string) bool { return rest.Get(k) == nil })
	for i := range branches {
		branches[i].Object = mergeSchemas(branches[i].Object, own.Object)
	}
	return branches, rest
}

// requiredNames returns the names that a schema requires, joined, as it is one of several ways.
func requiredNames(s kit.Object) []string {
	list, _ := s.Get("required").([]any)
	var names []string
	for _, v := range list {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, " and ")}
}

// byType returns a schema for each of the types that a schema allows.
func byType(s schemaAt, types []string) (branches []schemaAt) {
	about := annotations(s)
	for _, t := range types {
		b := s.only(func(key string) bool {
			return about.Get(key) == nil && key != "type" && key != "enum" && key != "const" && concerns(key, t)
		})
		b.Object = append(kit.Object{{Key: "type", Value: t}}, b.Object...)
		var values []any
		for _, v := range enumOf(s.Object) {
			if of := typeOfValue(v); of == t || of == "integer" && t == "number" {
				values = append(values, v)
			}
		}
		if len(values) > 0 && t != "null" {
			b.Set("enum", values)
		} else if enumOf(s.Object) != nil && t != "null" {
			continue // no value of this type is allowed
		}
		branches = append(branches, b)
	}
	return branches
}

// keywordTypes says which types a keyword is about, for those that are not about all.
var keywordTypes = map[string][]string{
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "propertyOrdering": {"object"},
	"patternProperties": {"object"}, "minProperties": {"object"}, "maxProperties": {"object"},
	"items": {"array"}, "prefixItems": {"array"}, "minItems": {"array"}, "maxItems": {"array"}, "uniqueItems": {"array"},
	"additionalItems": {"array"},
	"minimum":         {"number", "integer"}, "maximum": {"number", "integer"}, "multipleOf": {"number", "integer"},
	"exclusiveMinimum": {"number", "integer"}, "exclusiveMaximum": {"number", "integer"},
	"pattern": {"string"}, "minLength": {"string"}, "maxLength": {"string"},
	"format": {"string", "number", "integer"}, "nullable": {},
}

func concerns(key, t string) bool {
	types, known := keywordTypes[key]
	return !known || slices.Contains(types, t)
}

// emitAlternatives writes alternatives. Those that come out equal are one.
func (l *lowering) emitAlternatives(about schemaAt, branches []schemaAt, key string, depth int) kit.Object {
	if whole, ok := oneEnum(branches); ok {
		return l.emit(schemaAt{mergeSchemas(about.Object, whole), about.refs}, depth)
	}
	nullable := false
	var seen []string
	var list []any
	for _, b := range branches {
		if l.mode == SchemaModeOpenAPI && slices.Equal(typesOf(b.Object), []string{"null"}) {
			nullable = true
			continue
		}
		one := l.emit(b, depth+1)
		if !isStructural(one) { // it allows everything
			var out kit.Object
			l.describe(&out, about, nil)
			return out
		}
		text, _ := one.Encode() // of JSON: cannot fail
		if !slices.Contains(seen, string(text)) {
			seen, list = append(seen, string(text)), append(list, any(one))
		}
	}
	var out kit.Object
	switch {
	case len(list) == 1:
		out = list[0].(kit.Object)
		about.Object = mergeSchemas(about.Object, annotations(schemaAt{Object: out}).Object)
	case l.mode == SchemaModeOpenAPI:
		out.Set("anyOf", list)
	default:
		out.Set(key, list)
	}
	if nullable {
		out.Set("nullable", true)
	}
	var notes []string
	if about.Get("default") != nil {
		text, _ := kit.Encode(about.Get("default")) // of JSON: cannot fail
		notes = append(notes, "default: "+string(text))
	}
	l.describe(&out, about, notes)
	return ordered(out)
}

// oneEnum joins alternatives that are nothing but lists of values of one type.
func oneEnum(branches []schemaAt) (kit.Object, bool) {
	var values []any
	name := ""
	for _, b := range branches {
		of := enumOf(b.Object)
		types := typesOf(b.Object)
		if of == nil || len(types) != 1 || name != "" && types[0] != name {
			return nil, false
		}
		for _, f := range b.Object {
			if f.Key != "enum" && f.Key != "const" && f.Key != "type" {
				return nil, false
			}
		}
		name = types[0]
		values = append(values, of...)
	}
	return kit.Object{{Key: "type", Value: name}, {Key: "enum", Value: values}}, name != ""
}

// oneObject returns a schema as the schema of one object: it has the properties of all alternatives, and requires those
// that all alternatives require.
func (l *lowering) oneObject(s schemaAt) schemaAt {
	for _, key := range []string{"anyOf", "oneOf"} {
		if s.Get(key) == nil {
			continue
		}
		branches, rest := l.alternatives(s, key)
		if len(branches) < 2 {
			s = rest
			continue
		}
		s = rest
		required := []any(nil)
		properties := kit.Object{}
		for i, b := range branches {
			b = l.oneObject(b)
			of, _ := b.Get("properties").(kit.Object)
			for _, p := range of {
				properties.Set(p.Key, either(properties.Get(p.Key), p.Value))
			}
			names, _ := b.Get("required").([]any)
			if i == 0 {
				required = names
			}
			required = slices.DeleteFunc(slices.Clone(required), func(v any) bool { return !slices.Contains(names, v) })
		}
		s.Set("properties", properties)
		if len(required) > 0 {
			s.Set("required", required)
		}
	}
	s.Set("type", "object")
	s.Set("nullable", nil)
	s.Set("enum", nil)
	s.Set("const", nil)
	return s
}

// either returns the schema of what one of two schemas allows.
func either(a, b any) any {
	if a == nil || reflect.DeepEqual(a, b) {
		return b
	}
	if o, ok := a.(kit.Object); ok && len(o) == 1 && o[0].Key == "anyOf" {
		list, _ := o[0].Value.([]any)
		if slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, b) }) {
			return a
		}
		return kit.Object{{Key: "anyOf", Value: append(slices.Clone(list), b)}}
	}
	return kit.Object{{Key: "anyOf", Value: []any{a, b}}}
}
