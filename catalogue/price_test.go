package catalogue_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/schema"
)

func usage(prompt, read, written, completion int) schema.TokenUsage {
	return schema.TokenUsage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion,
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: read, CacheWriteTokens: written}}
}

func TestCost(t *testing.T) {
	plain := catalogue.Price{Input: 1000, Output: 5000}
	cached := catalogue.Price{Input: 1000, Output: 5000, CacheRead: 100, CacheWrite: 2000}
	tiered := catalogue.Price{Input: 1, Output: 2, CacheRead: 0.5, Tiers: []catalogue.Tier{
		{Above: 500_000, Input: 10, Output: 20}, {Above: 200_000, Input: 4, CacheRead: 1}}}
	served := catalogue.Price{Input: 1000, ServiceTiers: map[string]float64{"flex": 0.5, "priority": 2, "trial": 0}}
	for _, test := range []struct {
		name  string
		price catalogue.Price
		usage schema.TokenUsage
		tier  string
		want  float64
	}{
		{"prompt and answer", plain, usage(1000, 0, 0, 100), "", 1 + 0.5},
		{"the cache costs as the prompt", plain, usage(1000, 600, 200, 100), "", 1 + 0.5},
		{"the cache has prices", cached, usage(1000, 600, 200, 100), "", 0.2 + 0.06 + 0.4 + 0.5},
		{"more cached than sent", cached, usage(100, 600, 0, 0), "", 0.06},
		{"nothing", cached, usage(0, 0, 0, 0), "", 0},
		{"free", catalogue.Price{}, usage(1000, 600, 200, 100), "", 0},
		{"up to a tier", tiered, usage(200_000, 0, 0, 1_000_000), "", 0.2 + 2},
		{"in a tier", tiered, usage(200_001, 200_001, 0, 1_000_000), "", 0.200001 + 2},
		{"in the highest tier", tiered, usage(1_000_000, 500_000, 0, 1_000_000), "", 10 + 20},
		{"a cheap service tier", served, usage(1000, 0, 0, 0), "flex", 0.5},
		{"a dear service tier", served, usage(1000, 0, 0, 0), "priority", 2},
		{"a free service tier", served, usage(1000, 0, 0, 0), "trial", 0},
		{"another service tier", served, usage(1000, 0, 0, 0), "default", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.InDelta(t, test.want, test.price.Cost(test.usage, test.tier), 1e-9)
		})
	}
}

// TestCost_Algebra: for prices and usages of all sizes a cost is never negative, grows with tokens and is in proportion
// to prices, and moving tokens between the parts of a prompt changes it by the difference of their prices.
func TestCost_Algebra(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		p := catalogue.Price{Input: random.Float64() * 20, Output: random.Float64() * 100,
			CacheRead: random.Float64() * 2, CacheWrite: random.Float64() * 40}
		read, written, fresh := random.IntN(1e6), random.IntN(1e6), 1+random.IntN(1e6)
		u := usage(read+written+fresh, read, written, random.IntN(1e5))
		cost := p.Cost(u, "")
		require.GreaterOrEqual(t, cost, 0.0)

		want := (float64(fresh)*p.Input + float64(read)*p.CacheRead + float64(written)*p.CacheWrite +
			float64(u.CompletionTokens)*p.Output) / 1e6
		require.InEpsilon(t, want, cost, 1e-9)

		more := u
		more.PromptTokens++
		more.CompletionTokens++
		require.InDelta(t, cost+(p.Input+p.Output)/1e6, p.Cost(more, ""), 1e-9)

		moved := u
		moved.PromptTokenDetails.CachedTokens++
		require.InDelta(t, cost+(p.CacheRead-p.Input)/1e6, p.Cost(moved, ""), 1e-9)

		double := p
		double.Input, double.Output = p.Input*2, p.Output*2
		double.CacheRead, double.CacheWrite = p.CacheRead*2, p.CacheWrite*2
		require.InEpsilon(t, 2*cost, double.Cost(u, ""), 1e-9)

		tier := catalogue.Tier{Above: u.PromptTokens - random.IntN(2), Input: double.Input, Output: double.Output,
			CacheRead: double.CacheRead, CacheWrite: double.CacheWrite}
		tiered := p
		tiered.Tiers = []catalogue.Tier{tier}
		if u.PromptTokens > tier.Above {
			require.InEpsilon(t, 2*cost, tiered.Cost(u, ""), 1e-9)
		} else {
			require.InEpsilon(t, cost, tiered.Cost(u, ""), 1e-9)
		}

		factor := random.Float64() * 3
		tiered.Tiers, tiered.ServiceTiers = nil, map[string]float64{"x": factor}
		require.InDelta(t, cost*factor, tiered.Cost(u, "x"), 1e-9*math.Max(1, cost))
	}
}

func TestReportedCost(t *testing.T) {
	for text, want := range map[string]float64{"0.0125": 0.0125, "0": 0, "1e-05": 0.00001, "12": 12} {
		got, ok := catalogue.ReportedCost(map[string]any{"usage_cost": text})
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, value := range []any{nil, "", "-1", "NaN", "Inf", "-Inf", "1e999", "0.10.1", "$1", 0.5} {
		_, ok := catalogue.ReportedCost(map[string]any{"usage_cost": value})
		require.False(t, ok, value)
	}
	_, ok := catalogue.ReportedCost(nil)
	require.False(t, ok)
}
