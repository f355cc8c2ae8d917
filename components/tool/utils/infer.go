package utils

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/schema"
)

// GoStruct2ParamsOneOf describes the fields of T, a struct, as the parameters of a tool. The names come from json tags,
// everything else from jsonschema tags. A field is required unless its json tag says omitempty. It fails if T cannot
// be described: a type that contains itself, a channel, a function.
func GoStruct2ParamsOneOf[T any](opts ...Option) (*schema.ParamsOneOf, error) {
	return goStruct2ParamsOneOf[T](opts...)
}

// GoStruct2ToolInfo describes a tool with the fields of T as parameters; see [GoStruct2ParamsOneOf].
func GoStruct2ToolInfo[T any](toolName, toolDesc string, opts ...Option) (*schema.ToolInfo, error) {
	params, err := goStruct2ParamsOneOf[T](opts...)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", toolName, err)
	}
	return &schema.ToolInfo{Name: toolName, Desc: toolDesc, ParamsOneOf: params}, nil
}

func goStruct2ParamsOneOf[T any](opts ...Option) (*schema.ParamsOneOf, error) {
	t := reflect.TypeFor[T]()
	described, err := inferSchema(t, newToolOptions(opts).schemaModifier)
	if err != nil {
		return nil, fmt.Errorf("infer parameters from %s: %w", t, err)
	}
	return schema.NewParamsOneOfByJSONSchema(described), nil
}

// maxSchemaTypes bounds the work on types that hold the same types again and again, since every use is described again.
const maxSchemaTypes = 20_000

// inferSchema describes a type without references. An interface type is an object of which nothing is known.
func inferSchema(t reflect.Type, modifier SchemaModifierFn) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface {
		return openObject(t, modifier)
	}
	if err := checkDescribable(t); err != nil {
		return nil, err
	}
	described, err := protect(func() (*jsonschema.Schema, error) { return reflector(modifier).ReflectFromType(t), nil })
	if err != nil {
		return nil, err
	}
	described.Version = ""
	return described, nil
}

func reflector(modifier SchemaModifierFn) *jsonschema.Reflector {
	visited := 0
	return &jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		SchemaModifier: func(name string, t reflect.Type, tag reflect.StructTag, s *jsonschema.Schema) {
			keepCommas(tag, s)
			if modifier != nil {
				modifier(name, t, tag, s)
			}
		},
		Mapper: func(reflect.Type) *jsonschema.Schema {
			if visited++; visited > maxSchemaTypes {
				panic(errors.New("the type is too large to be described without references"))
			}
			return nil
		},
	}
}

func openObject(t reflect.Type, modifier SchemaModifierFn) (*jsonschema.Schema, error) {
	return protect(func() (*jsonschema.Schema, error) {
		described := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
		if modifier != nil {
			modifier("_root", t, "", described)
		}
		return described, nil
	})
}
