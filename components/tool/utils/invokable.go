package utils

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// InferTool makes an invokable tool of a function and infers the description of its parameters from T. It fails if T
// cannot be described: a type that contains itself, a channel, a function.
func InferTool[T, D any](toolName, toolDesc string, i InvokeFunc[T, D], opts ...Option) (tool.InvokableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return NewTool(info, i, opts...), nil
}

// InferOptionableTool is [InferTool] for a function that gets the options of the call.
func InferOptionableTool[T, D any](
	toolName, toolDesc string, i OptionableInvokeFunc[T, D], opts ...Option,
) (tool.InvokableTool, error) {
	info, err := GoStruct2ToolInfo[T](toolName, toolDesc, opts...)
	if err != nil {
		return nil, err
	}
	return newInvokable(info, i, opts), nil
}

// NewTool makes an invokable tool of a function and a description of it.
func NewTool[T, D any](desc *schema.ToolInfo, i InvokeFunc[T, D], opts ...Option) tool.InvokableTool {
	return newInvokable(desc, func(ctx context.Context, input T, _ ...tool.Option) (D, error) { return i(ctx, input) },
		opts)
}

type invokable[T, D any] struct {
	localTool
	fn OptionableInvokeFunc[T, D]
}

func newInvokable[T, D any](info *schema.ToolInfo, fn OptionableInvokeFunc[T, D], opts []Option) *invokable[T, D] {
	return &invokable[T, D]{newLocalTool(info, invokableKind, opts), fn}
}

// InvokableRun implements [tool.InvokableTool].
func (t *invokable[T, D]) InvokableRun(
	ctx context.Context, argumentsInJSON string, opts ...tool.Option,
) (string, error) {
	input, err := decodeArguments[T](ctx, &t.localTool, argumentsInJSON)
	if err != nil {
		return "", err
	}
	output, err := call(ctx, t.fn, input, opts)
	if err != nil {
		return "", t.failInvoke(err)
	}
	return t.encodeOutput(ctx, output)
}
