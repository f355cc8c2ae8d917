package model

import (
	"github.com/weftgo/weft/internal/option"
	"github.com/weftgo/weft/schema"
)

// Options are the settings of one call that providers have in common. A nil pointer or slice means not set.
type Options struct {
	// Temperature makes answers more random as it grows.
	Temperature *float32
	// Model is the provider's name of the model.
	Model *string
	// TopP limits sampling to the most likely tokens with this total probability.
	TopP *float32
	// Tools are offered to the model. Empty and not nil means none, whatever the model was built with.
	Tools []*schema.ToolInfo
	// DeferredTools are offered in addition to Tools, but loaded by the model only when a search finds them. Empty and
	// not nil means none.
	DeferredTools []*schema.ToolInfo
	// ToolSearchTool is the tool that searches DeferredTools.
	ToolSearchTool *schema.ToolInfo
	// MaxTokens limits the length of the answer.
	MaxTokens *int
	// Stop ends the answer before any of these texts.
	Stop []string
	// ToolChoice says whether the model may or must call a tool.
	ToolChoice *schema.ToolChoice
	// AllowedToolNames restricts ToolChoice to these tools; empty means all.
	AllowedToolNames []string
	// AgenticToolChoice is ToolChoice for an [AgenticModel].
	AgenticToolChoice *schema.AgenticToolChoice
}

// Option changes the settings of one call. It is immutable and may be used for any number of calls. The zero Option
// changes nothing.
type Option option.Setter[Options]

func common(set func(*Options)) Option { return Option(option.Common(set)) }

// WithTemperature sets the temperature.
func WithTemperature(temperature float32) Option {
	return common(func(o *Options) { v := temperature; o.Temperature = &v })
}

// WithMaxTokens limits the length of the answer.
func WithMaxTokens(maxTokens int) Option {
	return common(func(o *Options) { v := maxTokens; o.MaxTokens = &v })
}

// WithModel sets the name of the model.
func WithModel(name string) Option {
	return common(func(o *Options) { v := name; o.Model = &v })
}

// WithTopP sets the probability mass to sample from.
func WithTopP(topP float32) Option {
	return common(func(o *Options) { v := topP; o.TopP = &v })
}

// WithStop sets the texts that end the answer.
func WithStop(stop []string) Option {
	return common(func(o *Options) { o.Stop = stop })
}

// WithTools sets the tools. nil means none, also for a model that was built with tools.
func WithTools(tools []*schema.ToolInfo) Option {
	return common(func(o *Options) { o.Tools = notNil(tools) })
}

// WithToolSearchTool sets the tool that searches the deferred tools.
func WithToolSearchTool(tool *schema.ToolInfo) Option {
	return common(func(o *Options) { o.ToolSearchTool = tool })
}

// WithDeferredTools sets the tools that the model finds by searching. nil means none.
func WithDeferredTools(tools []*schema.ToolInfo) Option {
	return common(func(o *Options) { o.DeferredTools = notNil(tools) })
}

// WithToolChoice says whether the model may or must call a tool, and which; without names all of them.
func WithToolChoice(toolChoice schema.ToolChoice, allowedToolNames ...string) Option {
	return common(func(o *Options) {
		v := toolChoice
		o.ToolChoice = &v
		o.AllowedToolNames = allowedToolNames
	})
}

// WithAgenticToolChoice says whether an [AgenticModel] may or must call a tool, and which; nil leaves it to the model.
func WithAgenticToolChoice(toolChoice *schema.AgenticToolChoice) Option {
	return common(func(o *Options) { o.AgenticToolChoice = toolChoice })
}

func notNil(tools []*schema.ToolInfo) []*schema.ToolInfo {
	if tools == nil {
		return []*schema.ToolInfo{}
	}
	return tools
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
