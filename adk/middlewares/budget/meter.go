package budget

import (
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/schema"
)

// meter turns what a provider reports about one call, which may come in pieces, into what to spend. One goroutine at a
// time may use it.
type meter struct {
	pricing *pricing
	asked   served
	by      served // the last report of who answered
	price   *catalogue.Price
	tier    string // at which the provider served the call
	seen    schema.TokenUsage
	// reported is the cost of the call by the provider, if it says one.
	reported   float64
	isReported bool
	charged    float64
}

// more takes a report, and returns what it adds to what was spent.
func (m *meter) more(u *schema.TokenUsage, extra map[string]any, by served) (s Spent, ok bool) {
	if by != (served{}) && by != m.by {
		m.by = by
		if price := m.pricing.answered(m.asked, by); price != nil {
			m.price = price
		}
	}
	if tier, ok := extra[catalogue.ExtraServiceTier].(string); ok {
		m.tier = tier
	}
	if cost, ok := catalogue.ReportedCost(extra); ok {
		m.reported, m.isReported = cost, true
	}
	before := total(m.seen)
	if u != nil {
		m.seen.Max(u)
	}
	cost := m.cost()
	s = Spent{Tokens: total(m.seen) - before, Money: cost - m.charged}
	m.charged = cost
	return s, s != Spent{}
}

// cost returns what the call costs as far as it is known: what the provider says, or else what its tokens cost.
func (m *meter) cost() float64 {
	switch {
	case m.isReported:
		return m.reported
	case m.price != nil:
		return m.price.Cost(m.seen, m.tier)
	}
	return 0
}

func total(u schema.TokenUsage) int64 {
	return int64(max(u.TotalTokens, u.PromptTokens+u.CompletionTokens))
}
