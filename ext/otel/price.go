package weftotel

import (
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/schema"
)

// priced returns the cost of a call of a model, which ended with err or nil. Without a price, nothing is said of costs; a
// call that failed before it used anything costs nothing. A panic of the function means that the price is not known.
func (op *operation) priced(u *schema.TokenUsage, provider string, err error) (cost catalogue.Sum) {
	price := op.handler.conf.Price
	if price == nil || u == nil && err != nil {
		return cost
	}
	cost.AddUnknown()
	if u == nil {
		return cost
	}
	defer guard()
	if amount, currency, known := price(provider, op.answerModel(), u); known {
		cost = catalogue.Sum{}
		cost.Add(amount, currency)
	}
	return cost
}
