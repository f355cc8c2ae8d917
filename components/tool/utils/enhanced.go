package utils

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// InferEnhancedTool is [InferTool] for a function that returns parts of several kinds.
func InferEnhancedTool[T any](
	toolName, toolDesc string, i EnhancedInvokeFunc[T], opts ...Option,
) (tool.EnhancedInvokableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return NewEnhancedTool(info, i, opts...), nil
}

// InferOptionableEnhancedTool is [InferEnhancedTool] for a function that gets the options of the call.
func InferOptionableEnhancedTool[T any](
	toolName, toolDesc string, i OptionableEnhancedInvokeFunc[T], opts ...Option,
) (tool.EnhancedInvokableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return newEnhancedInvokable(info, i, opts), nil
}

// NewEnhancedTool makes an enhanced invokable tool of a function and a description of it.
func NewEnhancedTool[T any](desc *schema.ToolInfo, i EnhancedInvokeFunc[T], opts ...Option) tool.EnhancedInvokableTool {
	return newEnhancedInvokable(desc, func(ctx context.Context, input T, _ ...tool.Option) (*schema.ToolResult, error) {
		return i(ctx, input)
	}, opts)
}

// InferEnhancedStreamTool is [InferStreamTool] for a function that returns parts of several kinds.
func InferEnhancedStreamTool[T any](
	toolName, toolDesc string, s EnhancedStreamFunc[T], opts ...Option,
) (tool.EnhancedStreamableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return NewEnhancedStreamTool(info, s, opts...), nil
}

// InferOptionableEnhancedStreamTool is [InferEnhancedStreamTool] for a function that gets the options of the call.
func InferOptionableEnhancedStreamTool[T any](
	toolName, toolDesc string, s OptionableEnhancedStreamFunc[T], opts ...Option,
) (tool.EnhancedStreamableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return newEnhancedStreamable(info, s, opts), nil
}

// NewEnhancedStreamTool makes an enhanced streamable tool of a function and a description of it.
func NewEnhancedStreamTool[T any](
	desc *schema.ToolInfo, s EnhancedStreamFunc[T], opts ...Option,
) tool.EnhancedStreamableTool {
	return newEnhancedStreamable(desc,
		func(ctx context.Context, input T, _ ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
			return s(ctx, input)
		}, opts)
}

type enhancedInvokable[T any] struct {
	localTool
	fn OptionableEnhancedInvokeFunc[T]
}

func newEnhancedInvokable[T any](
	info *schema.ToolInfo, fn OptionableEnhancedInvokeFunc[T], opts []Option,
) *enhancedInvokable[T] {
	return &enhancedInvokable[T]{newLocalTool(info, enhancedInvokableKind, opts), fn}
}

// InvokableRun implements [tool.EnhancedInvokableTool]. No argument is an empty one.
func (t *enhancedInvokable[T]) InvokableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option,
) (*schema.ToolResult, error) {
	input, err := decodeArguments[T](ctx, &t.localTool, textOf(toolArgument))
	if err != nil {
		return nil, err
	}
	output, err := call(ctx, t.fn, input, opts)
	if err != nil {
		return nil, t.failInvoke(err)
	}
	return output, nil
}

type enhancedStreamable[T any] struct {
	localTool
	fn OptionableEnhancedStreamFunc[T]
}

func newEnhancedStreamable[T any](
	info *schema.ToolInfo, fn OptionableEnhancedStreamFunc[T], opts []Option,
) *enhancedStreamable[T] {
	return &enhancedStreamable[T]{newLocalTool(info, enhancedStreamableKind, opts), fn}
}

// StreamableRun implements [tool.EnhancedStreamableTool]. No argument is an empty one.
func (t *enhancedStreamable[T]) StreamableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	input, err := decodeArguments[T](ctx, &t.localTool, textOf(toolArgument))
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
	return output, nil
}

func textOf(argument *schema.ToolArgument) string {
	if argument == nil {
		return ""
	}
	return argument.Text
}
