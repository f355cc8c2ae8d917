package schema

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/internal/json"
)

// toolInfoJSON is the JSON form of a ToolInfo.
type toolInfoJSON struct {
	Name  string         `json:"name,omitempty"`
	Desc  string         `json:"desc,omitempty"`
	Extra map[string]any `json:"extra,omitempty"`
	// HasParamsOneOf distinguishes a tool without a description of its arguments from one whose description is empty.
	HasParamsOneOf bool                      `json:"has_params_one_of,omitempty"`
	Params         map[string]*ParameterInfo `json:"params,omitempty"`
	JSONSchema     *jsonschema.Schema        `json:"json_schema,omitempty"`
	// RawJSONSchema is the text of a schema, as a string: nothing of it changes.
	RawJSONSchema *string `json:"raw_json_schema,omitempty"`
}

// MarshalJSON encodes the tool with its arguments, in whichever form they are described.
func (t ToolInfo) MarshalJSON() ([]byte, error) {
	doc := toolInfoJSON{Name: t.Name, Desc: t.Desc, Extra: t.Extra}
	if t.ParamsOneOf != nil {
		doc.HasParamsOneOf = true
		doc.Params, doc.JSONSchema = t.params, t.schema
		if t.raw != nil {
			doc.RawJSONSchema = &t.raw.text
		}
	}
	return json.Marshal(doc)
}

// UnmarshalJSON decodes what MarshalJSON wrote. It replaces the whole tool.
func (t *ToolInfo) UnmarshalJSON(data []byte) error {
	var doc toolInfoJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	*t = ToolInfo{Name: doc.Name, Desc: doc.Desc, Extra: doc.Extra}
	if doc.HasParamsOneOf {
		t.ParamsOneOf = newParamsOneOf(doc.Params, doc.JSONSchema, doc.RawJSONSchema)
	}
	return nil
}

// newParamsOneOf restores decoded parameters. Both encodings leave out an empty map.
func newParamsOneOf(params map[string]*ParameterInfo, schema *jsonschema.Schema, raw *string) *ParamsOneOf {
	p := &ParamsOneOf{params: params, schema: schema}
	if raw != nil {
		p.raw = &rawSchema{text: *raw}
	}
	if params == nil && schema == nil && raw == nil {
		p.params = map[string]*ParameterInfo{}
	}
	return p
}

// toolInfoGob is the gob form of a ToolInfo. Parameters and schema are JSON texts, which keep their order and what
// gob would drop.
type toolInfoGob struct {
	Name           string
	Desc           string
	Extra          map[string]any
	HasParamsOneOf bool
	Params         []byte
	JSONSchema     []byte
	// RawJSONSchema is the text of a schema. HasRawJSONSchema distinguishes an empty one from none.
	RawJSONSchema    []byte
	HasRawJSONSchema bool
}

// GobEncode encodes the tool with its arguments, in whichever form they are described. The types of the values in
// Extra must be registered with gob.
func (t ToolInfo) GobEncode() ([]byte, error) {
	doc := toolInfoGob{Name: t.Name, Desc: t.Desc, Extra: t.Extra, HasParamsOneOf: t.ParamsOneOf != nil}
	var err error
	if doc.HasParamsOneOf && t.params != nil {
		if doc.Params, err = json.Marshal(t.params); err != nil {
			return nil, fmt.Errorf("failed to marshal parameters of tool %q: %w", t.Name, err)
		}
	}
	if doc.HasParamsOneOf && t.schema != nil {
		if doc.JSONSchema, err = json.Marshal(t.schema); err != nil {
			return nil, fmt.Errorf("failed to marshal JSON schema of tool %q: %w", t.Name, err)
		}
	}
	if doc.HasParamsOneOf && t.raw != nil {
		doc.RawJSONSchema, doc.HasRawJSONSchema = []byte(t.raw.text), true
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(doc); err != nil {
		return nil, fmt.Errorf("failed to encode tool %q: %w", t.Name, err)
	}
	return buf.Bytes(), nil
}

// GobDecode decodes what GobEncode wrote. It replaces the whole tool.
func (t *ToolInfo) GobDecode(b []byte) error {
	var doc toolInfoGob
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&doc); err != nil {
		return fmt.Errorf("failed to decode tool: %w", err)
	}
	*t = ToolInfo{Name: doc.Name, Desc: doc.Desc, Extra: doc.Extra}
	if !doc.HasParamsOneOf {
		return nil
	}
	var (
		params map[string]*ParameterInfo
		schema *jsonschema.Schema
	)
	if len(doc.Params) > 0 {
		if err := json.Unmarshal(doc.Params, &params); err != nil {
			return fmt.Errorf("failed to unmarshal parameters of tool %q: %w", t.Name, err)
		}
	}
	if len(doc.JSONSchema) > 0 {
		if err := json.Unmarshal(doc.JSONSchema, &schema); err != nil {
			return fmt.Errorf("failed to unmarshal JSON schema of tool %q: %w", t.Name, err)
		}
	}
	var raw *string
	if doc.HasRawJSONSchema {
		text := string(doc.RawJSONSchema)
		raw = &text
	}
	t.ParamsOneOf = newParamsOneOf(params, schema, raw)
	return nil
}
