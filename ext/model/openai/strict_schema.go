package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
)

// looseKeywords are the keywords that strict schemas may not have.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
var looseKeywords = []string{
	"$schema", "$id", "default", "examples", "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else",
	"minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
	"contains", "minContains", "maxContains", "uniqueItems", "minLength", "maxLength", "contentEncoding",
	"contentMediaType", "oneOf",
}

// strictSchema returns a schema as strict tools need it, for both APIs: every property is required, and null where it was
// optional; there are no others; and what strict schemas may not have is gone. What it cannot say is an error that names
// the place: values of any kind, and maps, whose keys are not known.
func strictSchema(raw json.RawMessage) (json.RawMessage, error) {
	v, err := kit.DecodeOrdered(raw)
	if err != nil {
		return nil, err
	}
	v, err = strictValue(v, "")
	if err != nil {
		return nil, fmt.Errorf("%w: leave strict out", err)
	}
	return kit.Encode(v)
}

// strictPath names a place in a schema.
func strictPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// strictFault returns the error of a place that no strict schema can have.
func strictFault(path, fault string) error {
	if path == "" {
		path = "the schema"
	}
	return fmt.Errorf("%s %s, which no strict schema can say", path, fault)
}

// strictValue makes the schema at a path strict.
func strictValue(v any, path string) (any, error) {
	o, ok := v.(kit.Object)
	switch {
	case !ok:
		return nil, strictFault(path, "takes any value, or none")
	case o.Get("$ref") != nil:
		return kit.Object{{Key: "$ref", Value: o.Get("$ref")}}, strictDefinitions(o, path) // nothing may stand beside it
	}
	alternatives := o.Get("oneOf")
	if alternatives != nil && o.Get("anyOf") == nil {
		o.Set("anyOf", alternatives)
	}
	for _, keyword := range looseKeywords {
		o.Set(keyword, nil)
	}
	if err := strictDefinitions(o, path); err != nil {
		return nil, err
	}
	if items := o.Get("items"); items != nil {
		strict, err := strictValue(items, path+"[]")
		if err != nil {
			return nil, err
		}
		o.Set("items", strict)
	}
	if alternatives, ok := o.Get("anyOf").([]any); ok {
		for i := range alternatives {
			strict, err := strictValue(alternatives[i], path)
			if err != nil {
				return nil, err
			}
			alternatives[i] = strict
		}
	}
	switch {
	case isObjectSchema(o):
		return strictObject(o, path)
	case saysNoType(o):
		return nil, strictFault(path, "takes any value")
	case o.Get("type") == "array" && o.Get("items") == nil:
		return nil, strictFault(path+"[]", "takes any value")
	}
	return o, nil
}

// saysNoType reports whether a schema takes values of any type.
func saysNoType(o kit.Object) bool {
	return o.Get("type") == nil && o.Get("anyOf") == nil && o.Get("enum") == nil && o.Get("const") == nil
}

func strictDefinitions(o kit.Object, path string) error {
	for _, keyword := range [...]string{"$defs", "definitions"} {
		defs, _ := o.Get(keyword).(kit.Object)
		for i := range defs {
			strict, err := strictValue(defs[i].Value, strictPath(path, defs[i].Key))
			if err != nil {
				return err
			}
			defs[i].Value = strict
		}
	}
	return nil
}

func isObjectSchema(o kit.Object) bool {
	kinds, _ := o.Get("type").([]any)
	return o.Get("type") == "object" || slices.Contains(kinds, any("object")) || o.Get("properties") != nil
}

func strictObject(o kit.Object, path string) (any, error) {
	properties, _ := o.Get("properties").(kit.Object)
	if others := o.Get("additionalProperties"); others != nil && others != false {
		if open, isBool := others.(bool); !isBool || open && len(properties) == 0 {
			return nil, strictFault(path, "is a map")
		}
	}
	if len(properties) == 0 && o.Get("additionalProperties") == nil && path != "" {
		return nil, strictFault(path, "is an object with any fields")
	}
	required, _ := o.Get("required").([]any)
	names := make([]any, len(properties))
	for i, p := range properties {
		names[i] = p.Key
		strict, err := strictValue(p.Value, strictPath(path, p.Key))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(required, any(p.Key)) {
			strict = strictNullable(strict)
		}
		properties[i].Value = strict
	}
	if properties == nil {
		properties = kit.Object{}
	}
	o.Set("properties", properties)
	o.Set("required", names)
	o.Set("additionalProperties", false)
	return o, nil
}

// strictNullable returns a schema that also accepts null.
func strictNullable(v any) any {
	o, ok := v.(kit.Object)
	if !ok {
		return v
	}
	null := kit.Object{{Key: "type", Value: "null"}}
	switch kind := o.Get("type").(type) {
	case string:
		if o.Get("enum") != nil {
			break // null is none of the values
		}
		o.Set("type", []any{kind, "null"})
		return o
	case []any:
		if !slices.Contains(kind, any("null")) && o.Get("enum") == nil {
			o.Set("type", append(kind, "null"))
			return o
		}
	}
	if alternatives, ok := o.Get("anyOf").([]any); ok {
		o.Set("anyOf", append(alternatives, null))
		return o
	}
	return kit.Object{{Key: "anyOf", Value: []any{o, null}}}
}
