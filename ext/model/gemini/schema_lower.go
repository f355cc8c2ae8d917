package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// SchemaMode says in which fields schemas are sent.
type SchemaMode string

const (
	// SchemaModeJSON sends JSON Schema, as far as the service knows it: parametersJsonSchema and responseJsonSchema.
	SchemaModeJSON SchemaMode = ""
	// SchemaModeOpenAPI sends the older form, which knows less: parameters and responseSchema.
	SchemaModeOpenAPI SchemaMode = "openapi"
)

func (m SchemaMode) toolField() string {
	if m == SchemaModeOpenAPI {
		return "parameters"
	}
	return "parametersJsonSchema"
}

func (m SchemaMode) answerField() string {
	if m == SchemaModeOpenAPI {
		return "responseSchema"
	}
	return "responseJsonSchema"
}

const (
	// maxSchemas is the number of schemas that one may become when its references are resolved; what is beyond is any
	// object.
	maxSchemas = 4000
	// maxSchemaDepth limits how deep the result may be nested.
	maxSchemaDepth = 32
	// maxRecursion is the number of times that a schema may stand in itself.
	maxRecursion = 3
)

// A lowering rewrites a JSON schema into the part of the language that the service understands, so that it means the same
// as far as that is possible. What has no keyword is said in the description.
type lowering struct {
	mode SchemaMode
	root kit.Object
	made int // schemas so far
}

// lowerSchema returns what is sent for a schema. The schema of a tool is always one object, and nil if the older form
// has nothing to say.
func lowerSchema(raw json.RawMessage, mode SchemaMode, tool bool) (kit.Object, error) {
	decoded, err := kit.DecodeOrdered(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	root, ok := decoded.(kit.Object)
	if !ok {
		return nil, fmt.Errorf("the schema is no JSON object")
	}
	l := &lowering{mode: mode, root: root}
	s := l.expand(root, nil)
	if !tool {
		return l.emit(s, 0), nil
	}
	out := l.emit(l.oneObject(s), 0)
	out.Set("type", l.typeName("object"))
	properties, _ := out.Get("properties").(kit.Object)
	switch {
	case len(properties) > 0:
	case mode == SchemaModeOpenAPI: // which refuses objects without properties
		return nil, nil
	default:
		out.Set("properties", kit.Object{})
	}
	return out, nil
}

// A schemaAt is a schema whose own references and allOf are resolved, but not the ones in the schemas inside of it.
// refs are the references that led to it, which those schemas need to see recursion.
type schemaAt struct {
	kit.Object
	refs *refs
}

func (l *lowering) typeName(name string) string {
	if l.mode == SchemaModeOpenAPI {
		return strings.ToUpper(name)
	}
	return name
}

var schemaTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// typesOf returns the types that a schema allows, as it says or as its keywords imply; nil for any.
func typesOf(s kit.Object) (types []string) {
	add := func(v any) {
		name, _ := v.(string)
		if name = strings.ToLower(name); slices.Contains(schemaTypes, name) && !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	switch t := s.Get("type").(type) {
	case string:
		add(t)
	case []any:
		for _, one := range t {
			add(one)
		}
	}
	if len(types) > 0 {
		return types
	}
	switch {
	case s.Get("properties") != nil:
		add("object")
	case s.Get("items") != nil, s.Get("prefixItems") != nil:
		add("array")
	default:
		for _, v := range enumOf(s) {
			add(typeOfValue(v))
		}
	}
	return types
}

func typeOfValue(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	case kit.Object:
		return "object"
	}
	return "null"
}

// emit writes a schema.
func (l *lowering) emit(s schemaAt, depth int) kit.Object {
	l.made++
	if l.made > maxSchemas || depth > maxSchemaDepth {
		return l.anyObject(s)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if s.Get(key) == nil {
			continue
		}
		branches, rest := l.alternatives(s, key)
		if len(branches) > 1 {
			return l.emitAlternatives(rest, branches, key, depth)
		}
		s = rest
	}
	types := typesOf(s.Object)
	if len(types) > 1 {
		return l.emitAlternatives(annotations(s), byType(s, types), "anyOf", depth)
	}
	var out kit.Object
	name := ""
	if len(types) == 1 {
		name = types[0]
	} else if l.mode == SchemaModeOpenAPI {
		name = "string" // the older form has no schema without a type
	}
	out.SetText("type", l.typeName(name))
	notes := l.scalars(&out, s, name)
	switch name {
	case "array":
		l.array(&out, s, depth)
	case "object":
		l.object(&out, s, depth)
	}
	l.describe(&out, s, notes)
	return ordered(out)
}

// anyObject stands for a schema that is too deep or too large to be written.
func (l *lowering) anyObject(s schemaAt) kit.Object {
	name := "object"
	if types := typesOf(s.Object); len(types) == 1 && types[0] != "array" {
		name = types[0]
	}
	out := kit.Object{{Key: "type", Value: l.typeName(name)}}
	l.describe(&out, s, nil)
	return out
}

// keywordOrder is the order of the keywords that are sent.
var keywordOrder = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "prefixItems", "minItems", "maxItems",
	"minimum", "maximum", "properties", "required", "propertyOrdering", "additionalProperties", "anyOf", "oneOf",
}

func ordered(o kit.Object) kit.Object {
	out := make(kit.Object, 0, len(o))
	for _, key := range keywordOrder {
		out.Set(key, o.Get(key))
	}
	return out
}

// array writes the keywords of an array.
func (l *lowering) array(out *kit.Object, s schemaAt, depth int) {
	tuple, _ := s.Get("prefixItems").([]any)
	items := s.Get("items")
	if list, ok := items.([]any); ok { // the older form of a tuple
		tuple, items = list, s.Get("additionalItems")
	}
	if len(tuple) > 0 && l.mode == SchemaModeJSON {
		list := make([]any, len(tuple))
		for i, t := range tuple {
			list[i] = l.emit(l.expand(t, s.refs), depth+1)
		}
		out.Set("prefixItems", list)
	}
	if len(tuple) > 0 && l.mode == SchemaModeOpenAPI {
		items = kit.Object{{Key: "anyOf", Value: tuple}}
	}
	element, described := items.(kit.Object)
	switch {
	case described && len(element) > 0:
		out.Set("items", l.emit(l.expand(element, s.refs), depth+1))
	case len(tuple) == 0: // the service wants to know what is in an array
		out.Set("items", kit.Object{{Key: "type", Value: l.typeName("string")}})
	}
	for _, key := range []string{"minItems", "maxItems"} {
		if n, ok := s.Get(key).(json.Number); ok {
			out.Set(key, n)
		}
	}
}

// object writes the keywords of an object.
func (l *lowering) object(out *kit.Object, s schemaAt, depth int) {
	given, _ := s.Get("properties").(kit.Object)
	properties := kit.Object{}
	var names []any
	for _, p := range given {
		if properties.Get(p.Key) == nil {
			names = append(names, p.Key)
		}
		properties.Set(p.Key, l.emit(l.expand(p.Value, s.refs), depth+1))
	}
	if len(properties) > 0 {
		out.Set("properties", properties)
	}
	var required []any
	list, _ := s.Get("required").([]any)
	for _, name := range list {
		if text, ok := name.(string); ok && properties.Get(text) != nil && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out.Set("required", required)
	}
	if ordering, ok := s.Get("propertyOrdering").([]any); ok && len(properties) > 0 {
		out.Set("propertyOrdering", ordering)
	}
	if l.mode == SchemaModeOpenAPI {
		if len(properties) > 1 {
			out.Set("propertyOrdering", names)
		}
		return
	}
	if s.Get("patternProperties") != nil { // which the service does not know, so that nothing is said about the others
		return
	}
	switch more := s.Get("additionalProperties").(type) {
	case bool:
		out.Set("additionalProperties", more)
	case kit.Object:
		if len(more) == 0 {
			out.Set("additionalProperties", true)
		} else {
			out.Set("additionalProperties", l.emit(l.expand(more, s.refs), depth+1))
		}
	}
}
