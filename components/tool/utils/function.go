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
// Arguments that are no JSON are an error, the empty text included. Some models write that in place of {} for a tool that
// requires nothing: [WithUnmarshalArguments] is the place to accept it.
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
type OptionableEnhancedInvokeFunc[T any] func(ctx context.Context, input T, opts ...tool.Option) (output *schema.ToolResult, err error)

// StreamFunc is a function that becomes a streamable tool.
type StreamFunc[T, D any] func(ctx context.Context, input T) (output *schema.StreamReader[D], err error)

// OptionableStreamFunc is a [StreamFunc] that gets the options of the call.
type OptionableStreamFunc[T, D any] func(ctx context.Context, input T, opts ...tool.Option) (output *schema.StreamReader[D], err error)

// EnhancedStreamFunc is a function that becomes an enhanced streamable tool.
type EnhancedStreamFunc[T any] func(ctx context.Context, input T) (output *schema.StreamReader[*schema.ToolResult], err error)

// OptionableEnhancedStreamFunc is an [EnhancedStreamFunc] that gets the options of the call.
type OptionableEnhancedStreamFunc[T any] func(ctx context.Context, input T, opts ...tool.Option) (output *schema.StreamReader[*schema.ToolResult], err error)
