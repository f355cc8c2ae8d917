package runlog

import (
	"strconv"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/schema"
)

// PricedCall is a call of a model that is to be priced.
type PricedCall struct {
	// Provider and Model are those that were asked; either may be empty.
	Provider, Model string
	Usage           schema.TokenUsage
	// Extra is the Extra of the answer.
	Extra map[string]any
}

// Price returns what a call of a model costs: an amount of money and its currency, such as "USD", and false if that is
// not known. It is called while the run waits, by several goroutines at the same time; it must be quick. A panic of it
// means that the cost is not known.
type Price func(call PricedCall) (amount float64, currency string, known bool)

// CataloguePrice prices calls as a catalogue does, in US dollars. What a provider itself says that a call costs counts
// more.
func CataloguePrice(c catalogue.Catalogue) Price {
	return func(call PricedCall) (float64, string, bool) {
		if dollars, ok := catalogue.ReportedCost(call.Extra); ok {
			return dollars, "USD", true
		}
		info, ok := c.Lookup(call.Provider, call.Model)
		if !ok || info.Price == nil {
			return 0, "", false
		}
		tier, _ := call.Extra[catalogue.ExtraServiceTier].(string)
		return info.Price.Cost(call.Usage, tier), "USD", true
	}
}

// addCost adds the call of a model that has ended. One without an answer costs nothing.
func addCost(sum *catalogue.Sum, price Price, start *ModelStartData, end *ModelEndData) {
	if price == nil || start == nil || end.Message == nil {
		return
	}
	call := PricedCall{Provider: start.Provider, Model: start.Model}
	usage := call.see(end.Message)
	var amount float64
	var currency string
	known := usage != nil
	if known {
		call.Usage = *usage
		known = guard(func() error { amount, currency, known = price(call); return nil }) == nil && known
	}
	if known {
		sum.Add(amount, currency)
	} else {
		sum.AddUnknown()
	}
}

// see reads what an answer says about its call. It returns nil if that has no usage.
func (c *PricedCall) see(m *Message) *schema.TokenUsage {
	switch {
	case m.Chat != nil:
		if c.Extra = m.Chat.Extra; m.Chat.ResponseMeta != nil {
			return m.Chat.ResponseMeta.Usage
		}
	case m.Agentic != nil:
		if c.Extra = m.Agentic.Extra; m.Agentic.ResponseMeta != nil {
			return m.Agentic.ResponseMeta.TokenUsage
		}
	}
	return nil
}

// costOf is the amount, nil if it is not known.
func costOf(sum catalogue.Sum) *Cost {
	amount, currency, known := sum.Amount()
	if !known {
		return nil
	}
	const digits = 9 // of a dollar: a token costs more
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(amount, 'f', digits, 64), 64)
	return &Cost{Amount: strconv.FormatFloat(rounded, 'f', -1, 64), Currency: currency}
}
