package retriever

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
	require.Equal(t, &CallbackInput{Query: "x"}, ConvCallbackInput("x"))
	require.Equal(t, &CallbackOutput{Docs: docs}, ConvCallbackOutput(docs))
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
	index, sub, topK, threshold, dsl := "i", "s", 3, 0.5, map[string]any{"k": 1}
	opts := []Option{{}, WithIndex(index), WithSubIndex(sub), WithTopK(topK), WithScoreThreshold(threshold),
		WithDSLInfo(dsl),
		WithEmbedding(embedder{}), WrapImplSpecificOptFn(func(o *implOptions) { o.n = 3 })}
	want := &Options{Index: &index, SubIndex: &sub, TopK: &topK, ScoreThreshold: &threshold, DSLInfo: dsl,
		Embedding: embedder{}}
	got := GetCommonOptions(nil, opts...)
	require.Equal(t, want, got)
	*got.Index, *got.SubIndex, *got.TopK, *got.ScoreThreshold = "changed", "changed", 9, 9
	require.Equal(t, want, GetCommonOptions(nil, opts...), "one call does not leak into the next")
	require.Equal(t, &implOptions{3}, GetImplSpecificOptions[implOptions](nil, opts...))
}
