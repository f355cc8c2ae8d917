package catwalk

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
)

// made is a table like the generated one, which changes with prices.
const made = `# version v1.2.3
# date 2026-10-28
[openai]
gpt-5	400000	ri	1.25	10	0.125	0
gpt-6	1000000	r	2	10	0.2	2.5
[copilot]
gpt-5	100000	i
[openrouter]
a/b:free	1000		0	0	0	0
`

func TestParse(t *testing.T) {
	table := parse(made)
	require.Equal(t, "v1.2.3", table.version)
	require.Equal(t, time.Date(2026, 10, 28, 0, 0, 0, 0, time.UTC), table.date)
	both, reasons := catalogue.Capabilities{Reasoning: true, Images: true}, catalogue.Capabilities{Reasoning: true}
	for key, want := range map[catalogue.Key]catalogue.ModelInfo{
		{Provider: "openai", Model: "gpt-5"}: {ContextWindow: 400_000, Capabilities: both,
			Price: &catalogue.Price{Input: 1.25, Output: 10, CacheRead: 0.125}},
		{Provider: "openai", Model: "gpt-6"}: {ContextWindow: 1_000_000, Capabilities: reasons,
			Price: &catalogue.Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5}},
		{Provider: "copilot", Model: "gpt-5"}: {ContextWindow: 100_000,
			Capabilities: catalogue.Capabilities{Images: true}},
		{Provider: "openrouter", Model: "a/b:free"}: {ContextWindow: 1000, Price: &catalogue.Price{}},
	} {
		got, ok := table.lists.Lookup(key.Provider, key.Model)
		require.True(t, ok, key)
		require.Equal(t, want, got, key)
	}
	for _, broken := range []string{"a\n", "a\tb\tr\n", "a\t1\tr\tx\t1\t1\t1\n", "a\t1\tr\t1\n", "# date x\n"} {
		require.Panics(t, func() { parse(broken) }, broken)
	}
}

func TestTable_IsComplete(t *testing.T) {
	require.Regexp(t, `^v\d+\.\d+\.\d+`, Version())
	require.True(t, Date().After(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	notice, err := os.ReadFile("NOTICE")
	require.NoError(t, err)
	for _, part := range []string{Version(), "MIT License", "Copyright (c) 2025 Charmbracelet, Inc", "WITHOUT WARRANTY"} {
		require.Contains(t, string(notice), part)
	}
}

// eachLine calls f with each model of the table: its list and what parse makes of it.
func eachLine(f func(list, name string, m catalogue.ModelInfo)) {
	list := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch line[0] {
		case '#':
		case '[':
			list = strings.Trim(line, "[]")
		default:
			fields := strings.Split(line, "\t")
			f(list, fields[0], info(fields))
		}
	}
}

func TestLookup_FindsEveryModelOfTheTableByItsName(t *testing.T) {
	c, n := New(), 0
	eachLine(func(list, name string, want catalogue.ModelInfo) {
		n++
		got, ok := c.Lookup(list, name)
		require.True(t, ok, "%s %s", list, name)
		require.Equal(t, want, got, "%s %s", list, name)
	})
	require.Greater(t, n, 1000)
}

// TestTable_PricesMakeSense: a cache is never dearer to read than the prompt, nor cheaper to write; nothing is free that
// does not say so.
func TestTable_PricesMakeSense(t *testing.T) {
	eachLine(func(list, name string, m catalogue.ModelInfo) {
		p := m.Price
		if p == nil {
			return
		}
		free := strings.HasSuffix(name, ":free") || strings.HasSuffix(name, "-free")
		require.Equal(t, p.Input > 0, p.Output > 0, "%s %s", list, name)
		require.True(t, p.Input > 0 || free, "%s %s costs nothing", list, name)
		require.True(t, p.CacheRead >= 0 && p.CacheRead <= p.Input, "%s %s: %+v", list, name, *p)
		require.True(t, p.CacheWrite == 0 || p.CacheWrite >= p.Input, "%s %s: %+v", list, name, *p)
		require.Less(t, p.Output, 2000.0, "%s %s: is that a price for a thousand tokens?", list, name)
	})
}

func TestLookup_ProvidersHaveTheirLists(t *testing.T) {
	known := map[string]bool{}
	eachLine(func(list, _ string, _ catalogue.ModelInfo) { known[list] = true })
	for provider, names := range lists {
		for _, name := range names {
			require.True(t, known[name], "provider %s has list %s, which is not in the table", provider, name)
		}
	}
	for _, own := range []string{"openai", "anthropic", "groq", "xai", "deepseek", "openrouter", "vercel", "cerebras"} {
		require.True(t, known[own], own)
	}
}

// TestLookup_ByAnotherNameOfAModel: each name finds the model that stands behind it in the table.
func TestLookup_ByAnotherNameOfAModel(t *testing.T) {
	c := New()
	for _, test := range []struct{ provider, model, list, want string }{
		{"openai", "gpt-5-2025-08-07", "openai", "gpt-5"},
		{"azure.ai.openai", "gpt-4o", "azure", "gpt-4o"},
		{"azure.ai.openai", "gpt-6-sol", "openai", "gpt-6-sol"},
		{"anthropic", "claude-opus-5-20260101", "anthropic", "claude-opus-5"},
		{"anthropic", "claude-haiku-4-5", "anthropic", "claude-haiku-4-5-20251001"},
		{"aws.bedrock", "us.anthropic.claude-opus-4-6-v1", "bedrock", "us.anthropic.claude-opus-4-6-v1"},
		{"aws.bedrock", "global.anthropic.claude-opus-5", "bedrock", "us.anthropic.claude-opus-5"},
		{"aws.bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock",
			"us.anthropic.claude-haiku-4-5-20251001-v1:0"},
		{"aws.bedrock", "eu.anthropic.claude-opus-5", "bedrock-europe", "eu.anthropic.claude-opus-5"},
		{"aws.bedrock", "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-5", "bedrock-europe",
			"eu.anthropic.claude-opus-5"},
		{"aws.bedrock", "jp.anthropic.claude-sonnet-4-6", "bedrock-europe", "eu.anthropic.claude-sonnet-4-6"},
		{"gcp.vertex_ai", "claude-haiku-4-5@20251001", "vertexai", "claude-haiku-4-5-20251001"},
		{"gcp.vertex_ai", "publishers/google/models/gemini-2.5-pro", "gemini", "gemini-2.5-pro"},
		{"gcp.gemini", "models/gemini-2.5-pro", "gemini", "gemini-2.5-pro"},
		{"x_ai", "grok-4.7", "xai", "grok-4.7"},
		{"openrouter", "openai/gpt-5", "openrouter", "openai/gpt-5"},
	} {
		want, ok := c.Lookup(test.list, test.want)
		require.True(t, ok, "%s has no %s any more: take another model for the test", test.list, test.want)
		got, ok := c.Lookup(test.provider, test.model)
		require.True(t, ok, "%s %s", test.provider, test.model)
		require.Equal(t, want, got, "%s %s", test.provider, test.model)
	}
}

func TestLookup_UnknownIsNotFound(t *testing.T) {
	c := New()
	for _, key := range []catalogue.Key{
		{Provider: "openai", Model: "no-such-model"}, {Provider: "no-such-provider", Model: "gpt-5"},
		{Provider: "", Model: "gpt-5"}, {Provider: "openai", Model: ""}, {Provider: "ollama", Model: "llama3"},
		{Provider: "openai", Model: "claude-opus-5"}, {Provider: "openrouter", Model: "openai/gpt-5:no-such-variant"},
	} {
		info, ok := c.Lookup(key.Provider, key.Model)
		require.False(t, ok, key)
		require.Zero(t, info, key)
	}
}

func TestLookup_ModelsOfASubscriptionHaveNoPrice(t *testing.T) {
	info, ok := New().Lookup("copilot", "gpt-5.6-sol")
	require.True(t, ok)
	require.Nil(t, info.Price)
	require.NotZero(t, info.ContextWindow)
}

func TestLookup_AllocatesAtMostOnce(t *testing.T) {
	c := New()
	c.Lookup("openai", "gpt-5")
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Lookup("aws.bedrock", "us.anthropic.claude-opus-5") }))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.Lookup("openai", "gpt-5") }), 1.0)
}

func TestNew_IsSafeForConcurrentUse(t *testing.T) {
	results := make(chan bool)
	providers := slices.Repeat([]string{"openai", "gcp.gemini"}, 4)
	for _, provider := range providers {
		go func() { _, ok := New().Lookup(provider, "gpt-5"); results <- ok }()
	}
	found := 0
	for range providers {
		if <-results {
			found++
		}
	}
	require.Equal(t, 4, found)
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse(text)
	}
}
