package utils

import (
	"context"
	"reflect"

	"github.com/eino-contrib/jsonschema"
)

// UnmarshalArguments decodes the arguments the model wrote. Its result must be of exactly the argument type of the
// tool's function.
type UnmarshalArguments func(ctx context.Context, arguments string) (any, error)

// MarshalOutput encodes what the tool's function returned.
type MarshalOutput func(ctx context.Context, output any) (string, error)

// SchemaModifierFn changes an inferred schema. It is called for each field, first with the schema of its type, then
// with the schema of the property after the tags were applied; for the elements of slice fields as well; for fields of
// nested structs before the field that holds them; and in the end for the whole, with the name "_root" and no tag.
type SchemaModifierFn func(jsonTagName string, t reflect.Type, tag reflect.StructTag, schema *jsonschema.Schema)

type toolOptions struct {
	unmarshal      UnmarshalArguments
	marshal        MarshalOutput
	schemaModifier SchemaModifierFn
	idempotent     bool
	// checksArguments: the arguments are checked against the schema at every call.
	checksArguments bool
}

// Option configures how a tool is made of a function.
type Option func(o *toolOptions)

// WithUnmarshalArguments replaces JSON as the way arguments are decoded. It gets the text as the model wrote it, which
// may be empty.
func WithUnmarshalArguments(um UnmarshalArguments) Option {
	return func(o *toolOptions) { o.unmarshal = um }
}

// WithMarshalOutput replaces JSON as the way results are encoded, for texts, too; of a stream tool each chunk. Enhanced
// tools have no use for it.
func WithMarshalOutput(m MarshalOutput) Option {
	return func(o *toolOptions) { o.marshal = m }
}

// WithSchemaModifier has the inferred schema changed before it is used.
func WithSchemaModifier(modifier SchemaModifierFn) Option {
	return func(o *toolOptions) { o.schemaModifier = modifier }
}

// WithIdempotent says that calling the tool again with the same arguments does no harm, as with one that only reads. A
// run that is saved at every step repeats such a call if its process died in the middle of it, and asks about any
// other.
func WithIdempotent() Option {
	return func(o *toolOptions) { o.idempotent = true }
}

func newToolOptions(opts []Option) toolOptions {
	var o toolOptions
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}
