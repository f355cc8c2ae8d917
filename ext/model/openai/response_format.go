package openai

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/ext/model/kit"
)

// ResponseFormat makes the model answer in JSON. Make it with [JSONObject] or [JSONSchema].
type ResponseFormat struct {
	// Type is "text", "json_object" or "json_schema".
	Type string
	// JSONSchema is required with "json_schema".
	JSONSchema *ResponseSchema
}

// ResponseSchema is the schema that an answer must follow.
type ResponseSchema struct {
	// Name has letters, digits, "_" and "-", at most 64. Required.
	Name string
	// Description says to the model what the answer is for.
	Description string
	// Schema describes the answer. Required. Strict mode allows a part of JSON Schema only: every property must be
	// required, and additionalProperties be false.
	Schema *jsonschema.Schema
	// Strict has the server enforce the schema.
	Strict bool
}

// JSONObject has the model answer with any JSON object. The messages must ask for JSON, too.
func JSONObject() *ResponseFormat { return &ResponseFormat{Type: "json_object"} }

// JSONSchema has the model answer with JSON that follows the schema strictly.
func JSONSchema(name string, schema *jsonschema.Schema) *ResponseFormat {
	return &ResponseFormat{Type: "json_schema", JSONSchema: &ResponseSchema{Name: name, Schema: schema, Strict: true}}
}

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (f *ResponseFormat) validate() error {
	switch {
	case f == nil || f.Type == "text" || f.Type == "json_object":
		return nil
	case f.Type != "json_schema":
		return fmt.Errorf("ResponseFormat.Type is %q: use text, json_object or json_schema", f.Type)
	case f.JSONSchema == nil || f.JSONSchema.Schema == nil:
		return errors.New("ResponseFormat of type json_schema needs a JSONSchema with a Schema")
	case !schemaName.MatchString(f.JSONSchema.Name):
		return fmt.Errorf("the name of the response schema is %q: use 1 to 64 letters, digits, _ and -", f.JSONSchema.Name)
	}
	return nil
}

// wire is the format as it is sent.
func (f *ResponseFormat) wire(omitStrict bool) object {
	o := kit.ObjectOf("type", f.Type)
	if f.Type != "json_schema" {
		return o
	}
	s := kit.ObjectOf("name", f.JSONSchema.Name)
	s.SetText("description", f.JSONSchema.Description)
	s.Set("schema", f.JSONSchema.Schema)
	if !omitStrict {
		s.Set("strict", f.JSONSchema.Strict)
	}
	o.Set("json_schema", s)
	return o
}
