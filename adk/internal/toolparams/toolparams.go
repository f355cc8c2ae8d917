// Package toolparams describes the arguments of built-in tools.
//
// Packages adk, its middlewares and its prebuilt agents use it, so that their tools say the same about arguments that
// they do not know as tools made of Go functions do.
// It must never be used for a description that a user has written.
package toolparams

import (
	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/schema"
)

// Closed describes arguments of which there are no others: additionalProperties is false, in objects inside them, too.
func Closed(params map[string]*schema.ParameterInfo) *schema.ParamsOneOf {
	open := schema.NewParamsOneOfByParams(params)
	s, err := open.ToJSONSchema()
	if err != nil || s == nil {
		return open // which says what is wrong
	}
	shut(s)
	return schema.NewParamsOneOfByJSONSchema(s)
}

func shut(s *jsonschema.Schema) {
	if s.Items != nil {
		shut(s.Items)
	}
	if s.Properties == nil {
		return // an object of which nothing is said may have any
	}
	s.AdditionalProperties = jsonschema.FalseSchema
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		shut(p.Value)
	}
}
