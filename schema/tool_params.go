package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/eino-contrib/jsonschema"
)

// ParamsOneOf describes the arguments of a tool in one of three forms: as a map of [ParameterInfo], as a JSON schema,
// or as the JSON text of one. Build it with [NewParamsOneOfByParams], [NewParamsOneOfByJSONSchema] or
// [NewParamsOneOfByRawJSON]. Nil describes a tool without arguments.
type ParamsOneOf struct {
	params map[string]*ParameterInfo
	schema *jsonschema.Schema
	raw    *rawSchema
}

// NewParamsOneOfByParams describes the arguments by name. It covers what most tools need; for anything else use
// [NewParamsOneOfByJSONSchema]. The map is not copied. An empty map describes an object without properties, a nil map
// a tool without arguments.
func NewParamsOneOfByParams(params map[string]*ParameterInfo) *ParamsOneOf {
	return &ParamsOneOf{params: params}
}

// NewParamsOneOfByJSONSchema describes the arguments by a JSON schema, whose type should be "object". The schema is
// not copied.
func NewParamsOneOfByJSONSchema(s *jsonschema.Schema) *ParamsOneOf {
	return &ParamsOneOf{schema: s}
}

// ToJSONSchema returns the JSON schema of the arguments, or nil if there are none.
//
// A schema given by the user is returned as it is. One given as a text is decoded by the first call and brought to
// draft 2020-12; all calls return the same one, which must not be changed, or what is wrong with the text. One made
// from [ParameterInfo] is new with every call, with properties in the order of their names, so that the caller may
// change it and equal tools give equal prompts. A nil ParameterInfo anywhere is an error that says where.
func (p *ParamsOneOf) ToJSONSchema() (*jsonschema.Schema, error) {
	if p == nil {
		return nil, nil
	}
	switch {
	case p.params == nil && p.raw != nil:
		s, _, err := p.raw.read()
		return s, err
	case p.params == nil:
		return p.schema, nil
	}
	s := &jsonschema.Schema{Type: string(Object)}
	if err := addProperties(s, p.params, ""); err != nil {
		return nil, err
	}
	return s, nil
}

// addProperties makes s the schema of an object with the given fields. The path leads to the object.
func addProperties(s *jsonschema.Schema, params map[string]*ParameterInfo, path string) error {
	s.Properties = jsonschema.NewProperties()
	s.Required = []string{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		property, err := parameterSchema(params[name], path+name)
		if err != nil {
			return err
		}
		s.Properties.Set(name, property)
		if params[name].Required {
			s.Required = append(s.Required, name)
		}
	}
	return nil
}

var errNilParameter = errors.New("parameter info is nil")

func parameterSchema(p *ParameterInfo, path string) (*jsonschema.Schema, error) {
	if p == nil {
		return nil, fmt.Errorf("tool parameter %s: %w", path, errNilParameter)
	}
	s := &jsonschema.Schema{Type: string(p.Type), Description: p.Desc}
	for _, value := range p.Enum {
		s.Enum = append(s.Enum, value)
	}
	var err error
	if p.ElemInfo != nil {
		if s.Items, err = parameterSchema(p.ElemInfo, path+"[]"); err != nil {
			return nil, err
		}
	}
	if len(p.SubParams) > 0 {
		err = addProperties(s, p.SubParams, path+".")
	}
	return s, err
}
