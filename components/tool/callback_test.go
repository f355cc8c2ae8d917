package tool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Rule components/B13.1.10.
func TestConvCallback_ReadsANilArgumentAsEmpty(t *testing.T) {
	in, out := &CallbackInput{}, &CallbackOutput{}
	require.Same(t, in, ConvCallbackInput(in))
	require.Same(t, out, ConvCallbackOutput(out))

	require.Equal(t, &CallbackInput{ArgumentsInJSON: "{}"}, ConvCallbackInput("{}"))
	require.Equal(t, &CallbackInput{ArgumentsInJSON: "{}"}, ConvCallbackInput(&schema.ToolArgument{Text: "{}"}))
	require.Equal(t, &CallbackInput{}, ConvCallbackInput((*schema.ToolArgument)(nil)))
	require.Equal(t, &CallbackOutput{Response: "x"}, ConvCallbackOutput("x"))
	result := &schema.ToolResult{}
	require.Same(t, result, ConvCallbackOutput(result).ToolOutput)
	require.Equal(t, &CallbackOutput{}, ConvCallbackOutput((*schema.ToolResult)(nil)))

	for _, other := range []any{nil, 1, CallbackInput{}, CallbackOutput{}, schema.ToolArgument{}, schema.ToolResult{}} {
		require.Nil(t, ConvCallbackInput(other))
		require.Nil(t, ConvCallbackOutput(other))
	}
}

type toolOptions struct{ n int }

func TestOptions(t *testing.T) {
	opts := []Option{{}, WrapImplSpecificOptFn(func(o *toolOptions) { o.n = 3 }), WrapImplSpecificOptFn[toolOptions](nil),
		WrapImplSpecificOptFn(func(*int) {})}
	base := &toolOptions{1}
	require.Same(t, base, GetImplSpecificOptions(base, opts...))
	require.Equal(t, 3, base.n)
	require.Equal(t, &toolOptions{}, GetImplSpecificOptions[toolOptions](nil))
}
