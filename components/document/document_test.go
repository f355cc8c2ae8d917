package document

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/document/parser"
	"github.com/weftgo/weft/schema"
)

func TestConvLoaderCallback(t *testing.T) {
	in, out := &LoaderCallbackInput{}, &LoaderCallbackOutput{}
	require.Same(t, in, ConvLoaderCallbackInput(in))
	require.Same(t, out, ConvLoaderCallbackOutput(out))
	docs := []*schema.Document{{}}
	require.Equal(t, &LoaderCallbackInput{Source: Source{"u"}}, ConvLoaderCallbackInput(Source{"u"}))
	require.Equal(t, &LoaderCallbackOutput{Docs: docs}, ConvLoaderCallbackOutput(docs))
	for _, other := range []any{nil, 1, &Source{}, LoaderCallbackInput{}, LoaderCallbackOutput{}} {
		require.Nil(t, ConvLoaderCallbackInput(other))
		require.Nil(t, ConvLoaderCallbackOutput(other))
	}
}

func TestConvTransformerCallback(t *testing.T) {
	in, out := &TransformerCallbackInput{}, &TransformerCallbackOutput{}
	require.Same(t, in, ConvTransformerCallbackInput(in))
	require.Same(t, out, ConvTransformerCallbackOutput(out))
	docs := []*schema.Document{{}}
	require.Equal(t, &TransformerCallbackInput{Input: docs}, ConvTransformerCallbackInput(docs))
	require.Equal(t, &TransformerCallbackOutput{Output: docs}, ConvTransformerCallbackOutput(docs))
	for _, other := range []any{nil, 1, TransformerCallbackInput{}, TransformerCallbackOutput{}} {
		require.Nil(t, ConvTransformerCallbackInput(other))
		require.Nil(t, ConvTransformerCallbackOutput(other))
	}
}

// Rule components/D1.
func TestOptions_ParserOptionsReplace(t *testing.T) {
	base := &LoaderOptions{ParserOptions: []parser.Option{parser.WithURI("a")}}
	require.Same(t, base, GetLoaderCommonOptions(base, WithParserOptions(parser.WithURI("b"), parser.Option{})))
	require.Len(t, base.ParserOptions, 2)
	require.Empty(t, GetLoaderCommonOptions(nil).ParserOptions)
}

type implOptions struct{ n int }

func TestOptions_ImplSpecific(t *testing.T) {
	set := func(o *implOptions) { o.n = 3 }
	require.Equal(t, &implOptions{3},
		GetLoaderImplSpecificOptions[implOptions](nil, LoaderOption{}, WithParserOptions(), WrapLoaderImplSpecificOptFn(set)))
	require.Equal(t, &implOptions{3},
		GetTransformerImplSpecificOptions[implOptions](nil, TransformerOption{}, WrapTransformerImplSpecificOptFn(set)))
}
