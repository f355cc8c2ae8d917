package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/ext/model/kit"
)

// ResponseFormat makes the model answer in JSON that follows a schema. Make it with [JSONSchema]. Models without
// structured output answer by calling a tool with the schema, whose arguments become the text of the answer.
type ResponseFormat struct {
	// Name is the name of the tool, for models that need one: letters, digits, "_" and "-". Default "answer".
	Name string
	// Description says to the model what the answer is for, if it is given as a tool.
	Description string
	// Schema describes the answer. Required, unless RawSchema is set.
	Schema *jsonschema.Schema
	// RawSchema is the schema as JSON text, which is sent as it is.
	RawSchema json.RawMessage
	// Tool has every model answer by a tool.
	Tool bool
}

// JSONSchema has the model answer with JSON that follows the schema.
func JSONSchema(name string, schema *jsonschema.Schema) *ResponseFormat {
	return &ResponseFormat{Name: name, Schema: schema}
}

const defaultAnswerTool = "answer"

func (f *ResponseFormat) validate() error {
	switch {
	case f == nil:
		return nil
	case f.Schema == nil && f.RawSchema == nil:
		return errors.New("ResponseFormat needs a Schema or a RawSchema")
	case f.RawSchema != nil && !json.Valid(f.RawSchema):
		return errors.New("ResponseFormat.RawSchema is no JSON")
	case f.Name != "" && !toolName.MatchString(f.Name):
		return fmt.Errorf("ResponseFormat.Name is %q: use %s", f.Name, toolNameInWords)
	}
	return nil
}

func (f *ResponseFormat) name() string {
	if f.Name == "" {
		return defaultAnswerTool
	}
	return f.Name
}

// schema returns the schema with its keywords in their order.
func (f *ResponseFormat) schema() (json.RawMessage, error) {
	if f.RawSchema != nil {
		return f.RawSchema, nil
	}
	text, err := kit.Encode(f.Schema)
	if err != nil {
		return nil, fmt.Errorf("ResponseFormat.Schema: %w", err)
	}
	return text, nil
}

// setOutput puts the format of the answer and the effort into the request.
func (b *builder) setOutput(body *kit.Object) error {
	var output kit.Object
	if b.o.ReasoningEffort != "" {
		if b.omits("output_config") {
			b.unsupported.Refuse("effort", "the service does not take ReasoningEffort: remove it")
		} else {
			output.Set("effort", b.o.ReasoningEffort)
		}
	}
	if f := b.o.ResponseFormat; f != nil {
		if err := f.validate(); err != nil {
			return err
		}
		schema, err := f.schema()
		switch {
		case err != nil:
			return err
		case f.Tool || b.omits("output_config") || !hasStructuredOutput(*b.common.Model):
			b.answerTool = f.name()
			b.answerSchema = schema
		default:
			output.Set("format", kit.Object{{Key: "type", Value: "json_schema"}, {Key: "schema", Value: schema}})
		}
	}
	if output != nil {
		body.Set("output_config", output)
	}
	return nil
}
