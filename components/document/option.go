package document

import (
	"github.com/weftgo/weft/components/document/parser"
	"github.com/weftgo/weft/internal/option"
)

// LoaderOptions are the settings of one call that loaders have in common.
type LoaderOptions struct {
	// ParserOptions are passed to the loader's parser.
	ParserOptions []parser.Option
}

// LoaderOption changes the settings of one call of a [Loader]. It is immutable and may be used for any number of calls.
// The zero LoaderOption changes nothing.
type LoaderOption option.Setter[LoaderOptions]

// WithParserOptions sets the options that are passed to the loader's parser. It replaces those set before.
func WithParserOptions(opts ...parser.Option) LoaderOption {
	return LoaderOption(option.Common(func(o *LoaderOptions) { o.ParserOptions = opts }))
}

// GetLoaderCommonOptions applies the common settings among opts to base, in order, and returns base. A nil base stands
// for one without settings.
func GetLoaderCommonOptions(base *LoaderOptions, opts ...LoaderOption) *LoaderOptions {
	return option.ApplyCommon(base, opts)
}

// WrapLoaderImplSpecificOptFn makes an option of one loader: optFn sets a field of the loader's own options T.
func WrapLoaderImplSpecificOptFn[T any](optFn func(*T)) LoaderOption {
	return LoaderOption(option.Impl[LoaderOptions](optFn))
}

// GetLoaderImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil
// base stands for a zero T. Options of other loaders are skipped.
func GetLoaderImplSpecificOptions[T any](base *T, opts ...LoaderOption) *T {
	return option.ApplyImpl(base, opts)
}

// transformerOptions is empty: transformers have no settings in common.
type transformerOptions struct{}

// TransformerOption changes the settings of one call of a [Transformer]. It is immutable and may be used for any number
// of calls. The zero TransformerOption changes nothing.
type TransformerOption option.Setter[transformerOptions]

// WrapTransformerImplSpecificOptFn makes an option of one transformer: optFn sets a field of the transformer's own
// options T.
func WrapTransformerImplSpecificOptFn[T any](optFn func(*T)) TransformerOption {
	return TransformerOption(option.Impl[transformerOptions](optFn))
}

// GetTransformerImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A
// nil base stands for a zero T. Options of other transformers are skipped.
func GetTransformerImplSpecificOptions[T any](base *T, opts ...TransformerOption) *T {
	return option.ApplyImpl(base, opts)
}
