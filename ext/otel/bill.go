package weftotel

import "github.com/weftgo/weft/schema"

// bill adds up what calls of models cost. An amount is known if that of each call is, in one currency: a part of it
// would look like the whole. Its owner guards it.
type bill struct {
	amount   float64
	currency string
	state    billState
}

// billState is whether the amount of a [bill] is known.
//
//	from   to       when
//	empty  known    a call is priced
//	empty  unknown  a call has an answer and no price
//	known  unknown  the same, or it has another currency
type billState int

const (
	billEmpty billState = iota
	billKnown
	billUnknown
)

// add adds the bill of a call.
func (b *bill) add(call bill) {
	switch {
	case call.state == billEmpty, b.state == billUnknown:
	case call.state == billUnknown, b.state == billKnown && b.currency != call.currency:
		*b = bill{state: billUnknown}
	default:
		b.amount, b.currency, b.state = b.amount+call.amount, call.currency, billKnown
	}
}

// priced is the bill of the call of a model that ended with an error or nil. Without a price, nothing is said of costs;
// a call that failed before it used anything costs nothing. A panic of the function means that the price is not known.
func (op *operation) priced(u *schema.TokenUsage, provider string, err error) (b bill) {
	price := op.handler.conf.Price
	if price == nil || u == nil && err != nil {
		return bill{}
	}
	b.state = billUnknown
	if u == nil {
		return b
	}
	defer guard()
	if amount, currency, known := price(provider, op.answerModel(), u); known {
		b = bill{amount: amount, currency: currency, state: billKnown}
	}
	return b
}
