package budget

import (
	"cmp"
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Price is what a model costs, for a million tokens.
type Price struct {
	// Input is for tokens of the prompt, CachedInput for those that the provider had cached; 0 stands for Input.
	Input, CachedInput float64
	// CacheWrite is for tokens of the prompt that the provider has put into its cache; 0 stands for Input.
	CacheWrite float64
	// Output is for tokens of the answer, reasoning included.
	Output float64
}

const perTokens = 1_000_000

// of is the price of a call.
func (p Price) of(u schema.TokenUsage) float64 {
	cached, written := u.PromptTokenDetails.CachedTokens, u.PromptTokenDetails.CacheWriteTokens
	return (float64(u.PromptTokens-cached-written)*p.Input +
		float64(cached)*cmp.Or(p.CachedInput, p.Input) +
		float64(written)*cmp.Or(p.CacheWrite, p.Input) +
		float64(u.CompletionTokens)*p.Output) / perTokens
}

// price finds the price of the model of a call. Without one no limit on money can be kept.
func (c *Config) price(opts []model.Option, needed bool) (Price, error) {
	if len(c.Prices) == 0 && !needed {
		return Price{}, nil
	}
	name := c.Model
	if chosen := model.GetCommonOptions(nil, opts...).Model; chosen != nil {
		name = *chosen
	}
	p, ok := c.Prices[name]
	if !ok {
		p, ok = c.Prices[""]
	}
	if !ok && needed {
		return p, fmt.Errorf("budget: there is a limit on money and no price for model %q: add it to Prices, or one for all models under the empty name", name)
	}
	return p, nil
}

// meter turns what a provider reports about a call, which may come in pieces, into what to spend.
type meter struct {
	price Price
	seen  schema.TokenUsage
}

// more is what is new.
func (m *meter) more(u *schema.TokenUsage) (s Spent, ok bool) {
	if u == nil {
		return s, false
	}
	before := m.seen
	m.seen.PromptTokens = max(before.PromptTokens, u.PromptTokens)
	m.seen.CompletionTokens = max(before.CompletionTokens, u.CompletionTokens)
	m.seen.TotalTokens = max(before.TotalTokens, u.TotalTokens)
	details, seen := &m.seen.PromptTokenDetails, u.PromptTokenDetails
	details.CachedTokens = max(details.CachedTokens, seen.CachedTokens)
	details.CacheWriteTokens = max(details.CacheWriteTokens, seen.CacheWriteTokens)
	s = Spent{Tokens: total(m.seen) - total(before), Money: m.price.of(m.seen) - m.price.of(before)}
	return s, s != Spent{}
}

func total(u schema.TokenUsage) int64 {
	return int64(max(u.TotalTokens, u.PromptTokens+u.CompletionTokens))
}
