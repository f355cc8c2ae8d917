package utils

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// InferStreamTool is [InferTool] for a function that returns a stream. Each chunk is encoded when it is received; an
// encoding error is delivered in its place.
func InferStreamTool[T, D any](
	toolName, toolDesc string, s StreamFunc[T, D], opts ...Option,
) (tool.StreamableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return NewStreamTool(info, s, opts...), nil
}

// InferOptionableStreamTool is [InferStreamTool] for a function that gets the options of the call.
func InferOptionableStreamTool[T, D any](
	toolName, toolDesc string, s OptionableStreamFunc[T, D], opts ...Option,
) (tool.StreamableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return newStreamable(info, s, opts), nil
}

// NewStreamTool makes a streamable tool of a function and a description of it.
func NewStreamTool[T, D any](desc *schema.ToolInfo, s StreamFunc[T, D], opts ...Option) tool.StreamableTool {
	return newStreamable(desc, func(ctx context.Context, input T, _ ...tool.Option) (*schema.StreamReader[D], error) {
		return s(ctx, input)
	}, opts)
}

type streamable[T, D any] struct {
	localTool
	fn OptionableStreamFunc[T, D]
}

func newStreamable[T, D any](info *schema.ToolInfo, fn OptionableStreamFunc[T, D], opts []Option) *streamable[T, D] {
	return &streamable[T, D]{newLocalTool(info, streamableKind, opts), fn}
}

// StreamableRun implements [tool.StreamableTool].
func (t *streamable[T, D]) StreamableRun(
	ctx context.Context, argumentsInJSON string, opts ...tool.Option,
) (*schema.StreamReader[string], error) {
	input, err := decodeArguments[T](ctx, &t.localTool, argumentsInJSON)
	if err != nil {
		return nil, err
	}
	output, err := call(ctx, t.fn, input, opts)
	if err != nil {
		return nil, t.failBare(err)
	}
	if output == nil {
		return nil, t.failNilStream()
	}
	return schema.StreamReaderWithConvert(output, func(chunk D) (string, error) { return t.encodeOutput(ctx, chunk) }), nil
}
