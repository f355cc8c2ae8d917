package retriever

import (
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/internal/option"
)

// Options are the settings of one call that retrievers have in common. Nil means not set.
type Options struct {
	// Index is the collection to search; what it is depends on the retriever.
	Index *string
	// SubIndex is a part of the index.
	SubIndex *string
	// TopK limits the number of documents.
	TopK *int
	// ScoreThreshold leaves out documents with a lower score.
	ScoreThreshold *float64
	// Embedding makes a vector of the query.
	Embedding embedding.Embedder
	// DSLInfo is a query in the retriever's own language.
	DSLInfo map[string]any
}

// Option changes the settings of one call. It is immutable and may be used for any number of calls. The zero Option
// changes nothing.
type Option option.Setter[Options]

func common(set func(*Options)) Option { return Option(option.Common(set)) }

// WithIndex sets the index to search.
func WithIndex(index string) Option {
	return common(func(o *Options) { v := index; o.Index = &v })
}

// WithSubIndex sets the part of the index to search.
func WithSubIndex(subIndex string) Option {
	return common(func(o *Options) { v := subIndex; o.SubIndex = &v })
}

// WithTopK limits the number of documents.
func WithTopK(topK int) Option {
	return common(func(o *Options) { v := topK; o.TopK = &v })
}

// WithScoreThreshold leaves out documents with a lower score.
func WithScoreThreshold(threshold float64) Option {
	return common(func(o *Options) { v := threshold; o.ScoreThreshold = &v })
}

// WithEmbedding sets what makes a vector of the query.
func WithEmbedding(emb embedding.Embedder) Option {
	return common(func(o *Options) { o.Embedding = emb })
}

// WithDSLInfo sets a query in the retriever's own language.
func WithDSLInfo(dsl map[string]any) Option {
	return common(func(o *Options) { o.DSLInfo = dsl })
}

// GetCommonOptions applies the common settings among opts to base, in order, and returns base. A nil base stands for
// one without settings.
func GetCommonOptions(base *Options, opts ...Option) *Options {
	return option.ApplyCommon(base, opts)
}

// WrapImplSpecificOptFn makes an option of one retriever: optFn sets a field of the retriever's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) Option {
	return Option(option.Impl[Options](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other retrievers are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...Option) *T {
	return option.ApplyImpl(base, opts)
}
