package parser

import "github.com/weftgo/weft/internal/option"

// Options are the settings of one call that parsers have in common.
type Options struct {
	// URI says where the bytes come from.
	URI string
	// ExtraMeta is added to the metadata of every document, and wins over what the parser finds.
	ExtraMeta map[string]any
}

// Option changes the settings of one call. It is immutable and may be used for any number of calls. The zero Option
// changes nothing.
type Option option.Setter[Options]

// WithURI says where the bytes come from; [ExtParser] chooses a parser by its extension.
func WithURI(uri string) Option {
	return Option(option.Common(func(o *Options) { o.URI = uri }))
}

// WithExtraMeta adds metadata to every document.
func WithExtraMeta(meta map[string]any) Option {
	return Option(option.Common(func(o *Options) { o.ExtraMeta = meta }))
}

// GetCommonOptions applies the common settings among opts to base, in order, and returns base. A nil base stands for
// one without settings.
func GetCommonOptions(base *Options, opts ...Option) *Options {
	return option.ApplyCommon(base, opts)
}

// WrapImplSpecificOptFn makes an option of one parser: optFn sets a field of the parser's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) Option {
	return Option(option.Impl[Options](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other parsers are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...Option) *T {
	return option.ApplyImpl(base, opts)
}
