// Package utils makes tools of Go functions.
//
// The Infer functions make a tool whose parameters are described by the fields of the function's argument type and
// their json and jsonschema tags:
//
//	type Query struct {
//		City string `json:"city" jsonschema:"description=name of the city"`
//		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7"`
//	}
//	weather, err := utils.InferTool("weather", "forecast for a city", func(ctx context.Context, q Query) (Forecast, error) {
//		...
//	})
//
// The New functions take a description made by hand. Either way the tool decodes its arguments from JSON, calls the
// function and encodes its result; a panic of the function becomes an error. The tools are safe for concurrent use if
// the function is.
//
// # Tags
//
// The json tag names a field, and omitempty makes it optional. A jsonschema tag is a list of words with commas between
// them, and no spaces around those:
//
//	title= description=                          texts for the model
//	required                                     required in spite of omitempty
//	nullable                                     null is allowed, too
//	enum= default= example=                      values; enum and example can be repeated
//	minLength= maxLength= pattern= format=       of strings
//	minimum= maximum= exclusiveMinimum=          of numbers
//	exclusiveMaximum= multipleOf=
//	minItems= maxItems= uniqueItems=true         of arrays; the words above apply to their elements then
//	readOnly= writeOnly=                         true or false
//	type= anchor=                                replace what the Go type says
//	oneof_required= anyof_required=              groups of fields of which one, or any, is required
//	oneof_type= anyof_type= oneof_ref= anyof_ref=  alternatives, separated by ;
//	-                                            leaves the field out
//
// A comma in a value is written \\, in the tag; in a title or description it may stand alone where no word follows it.
// The tag jsonschema_description holds a description as it is, and jsonschema_extras any other key=value. A tag with an
// unknown word, or with a value that its key cannot have, is an error of the Infer functions.
//
// # Arguments that do not fit
//
// Arguments that cannot be decoded are a [tool.ArgumentsError], which names the field. The empty text and null, which
// some models write instead of {}, count as that, and 5.0 and 1e2 as integers. A tool with [WithArgumentCheck] also
// refuses what can be decoded but does not fit the schema, and fills in defaults; an agent with ReportMistakes has all
// its tools do that, and shows the model what was wrong. [WithUnmarshalArguments] replaces all of this.
package utils

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// InvokeFunc is a function that becomes an invokable tool.
type InvokeFunc[T, D any] func(ctx context.Context, input T) (output D, err error)

// OptionableInvokeFunc is an [InvokeFunc] that gets the options of the call.
type OptionableInvokeFunc[T, D any] func(ctx context.Context, input T, opts ...tool.Option) (output D, err error)

// EnhancedInvokeFunc is a function that becomes an enhanced invokable tool.
type EnhancedInvokeFunc[T any] func(ctx context.Context, input T) (output *schema.ToolResult, err error)

// OptionableEnhancedInvokeFunc is an [EnhancedInvokeFunc] that gets the options of the call.
type OptionableEnhancedInvokeFunc[T any] func(
	ctx context.Context, input T, opts ...tool.Option,
) (output *schema.ToolResult, err error)

// StreamFunc is a function that becomes a streamable tool.
type StreamFunc[T, D any] func(ctx context.Context, input T) (output *schema.StreamReader[D], err error)

// OptionableStreamFunc is a [StreamFunc] that gets the options of the call.
type OptionableStreamFunc[T, D any] func(
	ctx context.Context, input T, opts ...tool.Option,
) (output *schema.StreamReader[D], err error)

// EnhancedStreamFunc is a function that becomes an enhanced streamable tool.
type EnhancedStreamFunc[T any] func(
	ctx context.Context, input T,
) (output *schema.StreamReader[*schema.ToolResult], err error)

// OptionableEnhancedStreamFunc is an [EnhancedStreamFunc] that gets the options of the call.
type OptionableEnhancedStreamFunc[T any] func(
	ctx context.Context, input T, opts ...tool.Option,
) (output *schema.StreamReader[*schema.ToolResult], err error)
