package model

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestOptions_EachSetsItsField(t *testing.T) {
	tools := []*schema.ToolInfo{{Name: "t"}}
	search := &schema.ToolInfo{Name: "search"}
	choice := &schema.AgenticToolChoice{Type: schema.ToolChoiceForced}
	temperature, topP, maxTokens, name := float32(0.5), float32(0.9), 7, "m"
	forced := schema.ToolChoiceForced
	stop := []string{"."}
	got := GetCommonOptions(nil,
		WithTemperature(temperature), WithTopP(topP), WithMaxTokens(maxTokens), WithModel(name), WithStop(stop),
		WithTools(tools), WithDeferredTools(tools), WithToolSearchTool(search),
		WithToolChoice(forced, "a", "b"), WithAgenticToolChoice(choice))
	require.Equal(t, &Options{
		Temperature: &temperature, TopP: &topP, MaxTokens: &maxTokens, Model: &name, Stop: stop,
		Tools: tools, DeferredTools: tools, ToolSearchTool: search,
		ToolChoice: &forced, AllowedToolNames: []string{"a", "b"}, AgenticToolChoice: choice,
	}, got)
	require.Same(t, search, got.ToolSearchTool)
	require.Same(t, choice, got.AgenticToolChoice)
}

// Rule components/M1.
func TestOptions_NilToolsMeanNone(t *testing.T) {
	base := &Options{Tools: []*schema.ToolInfo{{}}, DeferredTools: []*schema.ToolInfo{{}}}
	GetCommonOptions(base, WithTools(nil), WithDeferredTools(nil))
	require.NotNil(t, base.Tools)
	require.Empty(t, base.Tools)
	require.NotNil(t, base.DeferredTools)
	require.Empty(t, base.DeferredTools)
}

// Rule components/M2.
func TestOptions_ToolChoiceSetsTheAllowedNamesToo(t *testing.T) {
	got := GetCommonOptions(nil, WithToolChoice(schema.ToolChoiceForced, "a"), WithToolChoice(schema.ToolChoiceAllowed))
	require.Equal(t, schema.ToolChoiceAllowed, *got.ToolChoice)
	require.Nil(t, got.AllowedToolNames)
}

// Rule components/M3.
func TestOptions_NilPointersAreStored(t *testing.T) {
	base := &Options{AgenticToolChoice: &schema.AgenticToolChoice{}, ToolSearchTool: &schema.ToolInfo{}}
	GetCommonOptions(base, WithAgenticToolChoice(nil), WithToolSearchTool(nil))
	require.Nil(t, base.AgenticToolChoice)
	require.Nil(t, base.ToolSearchTool)
}

// Rules components/O6, components/B13.3.11.
func TestOptions_KeepSlicesAndCopyScalars(t *testing.T) {
	stop := []string{"."}
	opts := []Option{WithTemperature(1), WithTopP(1), WithMaxTokens(1), WithModel("m"), WithStop(stop),
		WithToolChoice(schema.ToolChoiceForced)}
	first := GetCommonOptions(nil, opts...)
	require.Same(t, &stop[0], &first.Stop[0])
	*first.Temperature, *first.TopP, *first.MaxTokens, *first.Model, *first.ToolChoice = 2, 2, 2, "changed", "changed"
	second := GetCommonOptions(nil, opts...)
	require.Equal(t, GetCommonOptions(nil, WithTemperature(1), WithTopP(1), WithMaxTokens(1), WithModel("m"),
		WithStop(stop),
		WithToolChoice(schema.ToolChoiceForced)), second, "one call does not leak into the next")
}

type providerOptions struct{ seed int }

func TestOptions_ImplSpecific(t *testing.T) {
	opts := []Option{{}, WithModel("m"), WrapImplSpecificOptFn(func(o *providerOptions) { o.seed = 3 }),
		WrapImplSpecificOptFn[providerOptions](nil)}
	require.Equal(t, &providerOptions{3}, GetImplSpecificOptions(&providerOptions{1}, opts...))
	require.Equal(t, "m", *GetCommonOptions(nil, opts...).Model)
}
