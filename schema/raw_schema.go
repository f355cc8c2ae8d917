package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/eino-contrib/jsonschema"

	internaljson "github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/schemaimport"
)

// rawSchema is a schema that was given as a text.
type rawSchema struct {
	text string
	// once guards the fields below, which are what became of the text.
	once       sync.Once
	schema     *jsonschema.Schema
	normalised []byte
	err        error
}

// NewParamsOneOfByRawJSON describes the arguments by the text of a JSON schema, as another program has written it: an
// MCP server, an OpenAPI document, a file. The text is copied and kept as it is; what [jsonschema.Schema] cannot hold
// is not lost.
//
// The text may be of any draft from 4 on. When it is needed it is brought to draft 2020-12, which is what models are
// given: definitions become $defs, lists of items prefixItems, dependencies are split, exclusive limits are numbers,
// and nullable allows null. Keywords without a field are in Extras, numbers keep their digits. References are never
// fetched. A text that is no JSON, no object and no boolean, larger than 1 MiB or nested more than 128 deep is an error
// of [ParamsOneOf.ToJSONSchema]. An empty text describes a tool without arguments.
func NewParamsOneOfByRawJSON(text json.RawMessage) *ParamsOneOf {
	return &ParamsOneOf{raw: &rawSchema{text: string(text)}}
}

// RawJSON returns a copy of the text that was given to [NewParamsOneOfByRawJSON], and nil for the other forms.
func (p *ParamsOneOf) RawJSON() json.RawMessage {
	if p == nil || p.raw == nil {
		return nil
	}
	return json.RawMessage(p.raw.text)
}

// SchemaJSON returns the JSON schema of the arguments as a text, for adapters to send, or nil if there are none. It is
// the schema of ToJSONSchema: a schema given as a text keeps the order of its keywords, and is the text itself if that
// was in draft 2020-12 already. The result must not be changed.
func (p *ParamsOneOf) SchemaJSON() (json.RawMessage, error) {
	if p != nil && p.params == nil && p.raw != nil {
		_, text, err := p.raw.read()
		return text, err
	}
	s, err := p.ToJSONSchema()
	if err != nil || s == nil {
		return nil, err
	}
	return internaljson.Marshal(s)
}

// read decodes the text, once.
func (r *rawSchema) read() (*jsonschema.Schema, []byte, error) {
	r.once.Do(func() {
		if len(bytes.TrimSpace([]byte(r.text))) == 0 {
			return
		}
		if r.schema, r.normalised, r.err = schemaimport.Import([]byte(r.text)); r.err != nil {
			r.err = fmt.Errorf("the JSON schema of a tool cannot be read: %w", r.err)
		}
	})
	return r.schema, r.normalised, r.err
}
