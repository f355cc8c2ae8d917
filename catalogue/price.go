package catalogue

import (
	"cmp"
	"math"
	"strconv"

	"github.com/weftgo/weft/schema"
)

// Price is the price of a model: an amount of money for a million tokens of each sort.
type Price struct {
	// Input is for tokens of the prompt, Output for tokens of the answer, reasoning included.
	Input, Output float64
	// CacheRead is for tokens of the prompt that the provider had in its cache, CacheWrite for those that it put there.
	// 0 stands for Input.
	CacheRead, CacheWrite float64
	// Tiers are prices for long prompts, in any order.
	Tiers []Tier
	// ServiceTiers multiply the price of a call that was served at a tier, such as "flex" by 0.5. Tiers that are not in
	// the map multiply it by 1.
	ServiceTiers map[string]float64
}

// Tier is the price of a whole call whose prompt is long.
type Tier struct {
	// Above is a size of prompts in tokens: the tier is for longer ones.
	Above int
	// Input and Output are as in [Price]; 0 stands for the values there. CacheRead and CacheWrite that are 0 stand for
	// Input of the tier.
	Input, Output, CacheRead, CacheWrite float64
}

const perTokens = 1_000_000

// Cost returns what a call costs, in the currency of the price. The tokens of the usage are as [schema.TokenUsage]
// defines them: the prompt contains those that were read from a cache and those that were written into it. The service
// tier is the one at which the provider served the call, and may be empty.
func (p Price) Cost(usage schema.TokenUsage, serviceTier string) float64 {
	at := p.at(usage.PromptTokens)
	read, written := usage.PromptTokenDetails.CachedTokens, usage.PromptTokenDetails.CacheWriteTokens
	fresh := max(0, usage.PromptTokens-read-written)
	cost := (float64(fresh)*at.Input +
		float64(read)*cmp.Or(at.CacheRead, at.Input) +
		float64(written)*cmp.Or(at.CacheWrite, at.Input) +
		float64(usage.CompletionTokens)*at.Output) / perTokens
	if multiplier, ok := p.ServiceTiers[serviceTier]; ok {
		cost *= multiplier
	}
	return cost
}

// at returns the prices for a prompt of a size: the prices of the highest tier that it reaches.
func (p Price) at(promptTokens int) Tier {
	at := Tier{Above: math.MinInt, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if promptTokens > tier.Above && tier.Above > at.Above {
			at = tier
			at.Input, at.Output = cmp.Or(tier.Input, p.Input), cmp.Or(tier.Output, p.Output)
		}
	}
	return at
}

// The keys under which adapters report what they know of the cost of a response, as strings in Extra of its message.
const (
	// ExtraCost is the provider's cost of the response, in US dollars, as a decimal number.
	ExtraCost = "usage_cost"
	// ExtraServiceTier is the tier at which the provider served the response.
	ExtraServiceTier = "service_tier"
)

// ReportedCost returns what the provider says that a response costs, in US dollars, from Extra of its message. It
// reports false if the provider says nothing, or nothing that is an amount.
func ReportedCost(extra map[string]any) (dollars float64, ok bool) {
	text, ok := extra[ExtraCost].(string)
	if !ok {
		return 0, false
	}
	dollars, err := strconv.ParseFloat(text, 64)
	if err != nil || dollars < 0 || math.IsInf(dollars, 0) || math.IsNaN(dollars) {
		return 0, false
	}
	return dollars, true
}
