package indexer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/schema"
)

func TestConvCallback(t *testing.T) {
	in, out := &CallbackInput{}, &CallbackOutput{}
	require.Same(t, in, ConvCallbackInput(in))
	require.Same(t, out, ConvCallbackOutput(out))
	docs := []*schema.Document{{}}
	require.Equal(t, &CallbackInput{Docs: docs}, ConvCallbackInput(docs))
	require.Equal(t, &CallbackOutput{IDs: []string{"x"}}, ConvCallbackOutput([]string{"x"}))
	for _, other := range []any{nil, 1, CallbackInput{}, CallbackOutput{}} {
		require.Nil(t, ConvCallbackInput(other))
		require.Nil(t, ConvCallbackOutput(other))
	}
}

type embedder struct{ embedding.Embedder }

func (embedder) EmbedStrings(context.Context, []string, ...embedding.Option) ([][]float64, error) {
	return nil, nil
}

type implOptions struct{ n int }

func TestOptions(t *testing.T) {
	index, subs := "i", []string{"s"}
	opts := []Option{{}, WithIndex(index), WithSubIndexes(subs), WithEmbedding(embedder{}),
		WrapImplSpecificOptFn(func(o *implOptions) { o.n = 3 })}
	want := &Options{Index: &index, SubIndexes: subs, Embedding: embedder{}}
	got := GetCommonOptions(nil, opts...)
	require.Equal(t, want, got)
	*got.Index = "changed"
	require.Equal(t, want, GetCommonOptions(nil, opts...), "one call does not leak into the next")
	require.Equal(t, &implOptions{3}, GetImplSpecificOptions[implOptions](nil, opts...))
}
