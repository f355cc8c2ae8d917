package tool

import "github.com/weftgo/weft/internal/option"

// options is empty: tools have no settings in common.
type options struct{}

// Option changes the settings of one call of a tool. It is immutable and may be used for any number of calls. The zero
// Option changes nothing.
type Option option.Setter[options]

// WrapImplSpecificOptFn makes an option of one tool: optFn sets a field of the tool's own options T.
func WrapImplSpecificOptFn[T any](optFn func(*T)) Option {
	return Option(option.Impl[options](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other tools are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...Option) *T {
	return option.ApplyImpl(base, opts)
}
