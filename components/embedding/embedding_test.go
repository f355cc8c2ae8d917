package embedding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConvCallback(t *testing.T) {
	in, out := &CallbackInput{}, &CallbackOutput{}
	require.Same(t, in, ConvCallbackInput(in))
	require.Same(t, out, ConvCallbackOutput(out))
	require.Equal(t, &CallbackInput{Texts: []string{"x"}}, ConvCallbackInput([]string{"x"}))
	require.Equal(t, &CallbackOutput{Embeddings: [][]float64{{1}}}, ConvCallbackOutput([][]float64{{1}}))
	require.Equal(t, &CallbackOutput{}, ConvCallbackOutput([][]float64(nil)))
	for _, other := range []any{nil, "x", CallbackInput{}, CallbackOutput{}} {
		require.Nil(t, ConvCallbackInput(other))
		require.Nil(t, ConvCallbackOutput(other))
	}
}

type implOptions struct{ n int }

func TestOptions(t *testing.T) {
	opts := []Option{{}, WithModel("m"), WrapImplSpecificOptFn(func(o *implOptions) { o.n = 3 })}
	got := GetCommonOptions(nil, opts...)
	require.Equal(t, "m", *got.Model)
	*got.Model = "changed"
	require.Equal(t, "m", *GetCommonOptions(nil, opts...).Model)
	require.Equal(t, &implOptions{3}, GetImplSpecificOptions[implOptions](nil, opts...))
}
