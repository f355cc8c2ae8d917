package openai

import (
	"encoding/json"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
)

// responsesLooseKeywords are what strict schemas may not have.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
var responsesLooseKeywords = []string{
	"$schema", "$id", "default", "examples", "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else",
	"minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
	"contains", "minContains", "maxContains", "uniqueItems", "minLength", "maxLength", "contentEncoding",
	"contentMediaType", "oneOf",
}

// responsesStrictSchema returns a schema as strict tools need it: every property is required, and null where it was
// optional; there are no others; and what strict schemas may not have is gone.
func responsesStrictSchema(raw json.RawMessage) (json.RawMessage, error) {
	v, err := kit.DecodeOrdered(raw)
	if err != nil {
		return nil, err
	}
	return kit.Encode(responsesStrictValue(v))
}

// responsesStrictValue makes a schema strict.
func responsesStrictValue(v any) any {
	o, ok := v.(kit.Object)
	if !ok {
		return v
	}
	if alternatives := o.Get("oneOf"); alternatives != nil && o.Get("anyOf") == nil {
		o.Set("anyOf", alternatives)
	}
	for _, keyword := range responsesLooseKeywords {
		o.Set(keyword, nil)
	}
	for _, keyword := range [...]string{"$defs", "definitions"} {
		if defs, ok := o.Get(keyword).(kit.Object); ok {
			for i := range defs {
				defs[i].Value = responsesStrictValue(defs[i].Value)
			}
		}
	}
	if items := o.Get("items"); items != nil {
		o.Set("items", responsesStrictValue(items))
	}
	if alternatives, ok := o.Get("anyOf").([]any); ok {
		for i := range alternatives {
			alternatives[i] = responsesStrictValue(alternatives[i])
		}
	}
	if isResponsesObjectSchema(o) {
		return responsesStrictObject(o)
	}
	return o
}

func isResponsesObjectSchema(o kit.Object) bool {
	kinds, _ := o.Get("type").([]any)
	return o.Get("type") == "object" || slices.Contains(kinds, any("object")) || o.Get("properties") != nil
}

func responsesStrictObject(o kit.Object) kit.Object {
	properties, _ := o.Get("properties").(kit.Object)
	required, _ := o.Get("required").([]any)
	names := make([]any, len(properties))
	for i, p := range properties {
		names[i] = p.Key
		properties[i].Value = responsesStrictValue(p.Value)
		if !slices.Contains(required, any(p.Key)) {
			properties[i].Value = responsesNullable(properties[i].Value)
		}
	}
	if properties == nil {
		properties = kit.Object{}
	}
	o.Set("properties", properties)
	o.Set("required", names)
	o.Set("additionalProperties", false)
	return o
}

// responsesNullable returns a schema that also accepts null.
func responsesNullable(v any) any {
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
