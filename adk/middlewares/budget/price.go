package budget

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
)

// Price is the price of a model, for a million tokens. A [Config.Catalogue] can also have prices for long prompts and
// for service tiers.
type Price struct {
	// Input is for tokens of the prompt, CachedInput for those that the provider had cached; 0 stands for Input.
	Input, CachedInput float64
	// CacheWrite is for tokens of the prompt that the provider has put into its cache; 0 stands for Input.
	CacheWrite float64
	// Output is for tokens of the answer, reasoning included.
	Output float64
}

func (p Price) listed() *catalogue.Price {
	return &catalogue.Price{Input: p.Input, Output: p.Output, CacheRead: p.CachedInput, CacheWrite: p.CacheWrite}
}

// UnknownPrice decides what to do where money is limited and a model has no price.
type UnknownPrice string

const (
	// UnknownPriceError is the default: the call fails before it is made. [New] fails already where [Config.Limits] limit
	// money, and there are no prices at all, or there is a Catalogue and it is clear that Model of Provider has none.
	UnknownPriceError UnknownPrice = ""
	// UnknownPriceIgnore makes the call. It costs what the provider reports, and nothing if it reports nothing.
	UnknownPriceIgnore UnknownPrice = "ignore"
	// UnknownPriceEstimate makes the call, and counts for each sort of token the highest price among [Config.Prices] and
	// the prices of [Config.Model] in the Catalogue, if the provider reports no cost. One of these prices must be known.
	UnknownPriceEstimate UnknownPrice = "estimate"
)

// served is a model and the provider that serves it. What is not known is empty.
type served struct{ provider, model string }

// pricing finds the prices of calls. It never changes.
type pricing struct {
	own       map[string]*catalogue.Price
	catalogue catalogue.Catalogue // may be nil
	unknown   UnknownPrice
	estimate  *catalogue.Price // with UnknownPriceEstimate
	conf      served           // what the Config says
}

func newPricing(c *Config) (*pricing, error) {
	if c.Catalogue != nil && typednil.Is(c.Catalogue) {
		return nil, errors.New("budget: Catalogue holds a nil pointer: leave it nil for none")
	}
	p := &pricing{own: make(map[string]*catalogue.Price, len(c.Prices)), catalogue: c.Catalogue,
		unknown: c.OnUnknownPrice, conf: served{c.Provider, c.Model}}
	for name, price := range c.Prices {
		p.own[name] = price.listed()
	}
	switch c.OnUnknownPrice {
	case UnknownPriceError:
		return p, p.refuse(c.Limits.Money > 0)
	case UnknownPriceIgnore:
		return p, nil
	case UnknownPriceEstimate:
		if p.estimate = p.dearest(); p.estimate == nil {
			return nil, errors.New("budget: there is no price to estimate from: " +
				"give Prices, or a Model and a Provider that Catalogue has a price for")
		}
		return p, nil
	}
	return nil, fmt.Errorf("budget: OnUnknownPrice is %q: use a constant of type UnknownPrice", c.OnUnknownPrice)
}

// refuse returns an error if it is clear before any call that a limit on money cannot be kept.
func (p *pricing) refuse(limited bool) error {
	switch {
	case !limited:
		return nil
	case len(p.own) == 0 && p.catalogue == nil:
		return errors.New("budget: a limit on money needs Prices or a Catalogue, or OnUnknownPrice")
	case p.catalogue != nil && p.conf.model != "" && p.conf.provider != "" && p.of(p.conf) == nil:
		return noPrice(p.conf)
	}
	return nil
}

func noPrice(m served) error {
	return fmt.Errorf("budget: there is a limit on money and no price for model %q of provider %q: add it to Prices, "+
		"or one for all models under the empty name, or set Provider for the Catalogue, or OnUnknownPrice",
		m.model, m.provider)
}

// of returns the price of a model, nil if it is not known: the user's own price, the price of the catalogue, or the
// user's own price for all others.
func (p *pricing) of(m served) *catalogue.Price {
	if price, ok := p.own[m.model]; ok && m.model != "" {
		return price
	}
	if price := p.listed(m); price != nil {
		return price
	}
	return p.own[""]
}

// listed returns the price of a model in the catalogue.
func (p *pricing) listed(m served) *catalogue.Price {
	if p.catalogue == nil || m.model == "" {
		return nil
	}
	info, _ := p.catalogue.Lookup(m.provider, m.model)
	return info.Price
}

// dearest returns the highest prices that are known, nil if none is.
func (p *pricing) dearest() *catalogue.Price {
	var dearest *catalogue.Price
	add := func(price *catalogue.Price) {
		if price == nil {
			return
		}
		if dearest == nil {
			dearest = &catalogue.Price{}
		}
		for _, t := range append(slices.Clip(price.Tiers), catalogue.Tier{Input: price.Input, Output: price.Output,
			CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}) {
			dearest.Input = max(dearest.Input, t.Input)
			dearest.Output = max(dearest.Output, t.Output)
			dearest.CacheRead = max(dearest.CacheRead, cmp.Or(t.CacheRead, t.Input))
			dearest.CacheWrite = max(dearest.CacheWrite, cmp.Or(t.CacheWrite, t.Input))
		}
	}
	for _, price := range p.own {
		add(price)
	}
	add(p.listed(p.conf))
	return dearest
}

// begin finds the price of a call before it is made. Where money is limited, which needs one, it fails without.
func (p *pricing) begin(provider string, opts []model.Option, needed bool) (meter, error) {
	if len(p.own) == 0 && p.catalogue == nil && (!needed || p.unknown == UnknownPriceIgnore) {
		return meter{pricing: p}, nil
	}
	asked := served{cmp.Or(p.conf.provider, provider), p.conf.model}
	if chosen := model.GetCommonOptions(nil, opts...).Model; chosen != nil {
		asked.model = *chosen
	}
	price := p.of(asked)
	if price == nil && needed && p.unknown == UnknownPriceError {
		return meter{}, noPrice(asked)
	}
	return meter{pricing: p, asked: asked, price: cmp.Or(price, p.estimate)}, nil
}

// answered returns the price of a call after the provider has reported who answered, nil if that changes nothing: a
// router may have chosen another model. A price that the user gave for the model that was asked for stays, unless there
// is one for the model that answered.
func (p *pricing) answered(asked, by served) *catalogue.Price {
	by.provider = cmp.Or(p.conf.provider, by.provider, asked.provider)
	by.model = cmp.Or(by.model, asked.model)
	if by.model == "" {
		return nil
	}
	if price, ok := p.own[by.model]; ok {
		return price
	}
	if _, ok := p.own[asked.model]; ok && asked.model != "" {
		return nil
	}
	return p.listed(by)
}
