package embedding

import "github.com/weftgo/weft/internal/option"

// Options are the settings of one call that providers have in common. Nil means not set.
type Options struct {
	// Model is the provider's name of the model.
	Model *string
}

// Option changes the settings of one call. It is immutable and may be used for any number of calls. The zero Option
// changes nothing.
type Option option.Setter[Options]

// WithModel sets the name of the model.
func WithModel(model string) Option {
	return Option(option.Common(func(o *Options) { v := model; o.Model = &v }))
}

// GetCommonOptions applies the common settings among opts to base, in order, and returns base. A nil base stands for
// one without settings.
func GetCommonOptions(base *Options, opts ...Option) *Options {
	return option.ApplyCommon(base, opts)
}

// WrapImplSpecificOptFn makes an option of one provider: optFn sets a field of the provider's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) Option {
	return Option(option.Impl[Options](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other providers are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...Option) *T {
	return option.ApplyImpl(base, opts)
}
