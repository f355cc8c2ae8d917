package indexer

import (
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/internal/option"
)

// Options are the settings of one call that indexers have in common. Nil means not set.
type Options struct {
	// Index is the collection to store into; what it is depends on the indexer.
	Index *string
	// SubIndexes are parts of the index.
	SubIndexes []string
	// Embedding makes vectors of the documents.
	Embedding embedding.Embedder
}

// Option changes the settings of one call. It is immutable and may be used for any number of calls. The zero Option
// changes nothing.
type Option option.Setter[Options]

func common(set func(*Options)) Option { return Option(option.Common(set)) }

// WithIndex sets the index to store into.
func WithIndex(index string) Option {
	return common(func(o *Options) { v := index; o.Index = &v })
}

// WithSubIndexes sets the parts of the index to store into.
func WithSubIndexes(subIndexes []string) Option {
	return common(func(o *Options) { o.SubIndexes = subIndexes })
}

// WithEmbedding sets what makes vectors of the documents.
func WithEmbedding(emb embedding.Embedder) Option {
	return common(func(o *Options) { o.Embedding = emb })
}

// GetCommonOptions applies the common settings among opts to base, in order, and returns base. A nil base stands for
// one without settings.
func GetCommonOptions(base *Options, opts ...Option) *Options {
	return option.ApplyCommon(base, opts)
}

// WrapImplSpecificOptFn makes an option of one indexer: optFn sets a field of the indexer's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) Option {
	return Option(option.Impl[Options](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other indexers are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...Option) *T {
	return option.ApplyImpl(base, opts)
}
