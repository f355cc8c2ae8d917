package catalogue

// Sum adds up what calls of models cost. The amount is known if the cost of each call is, in one currency: a part of it
// would look like the whole. The zero value is the sum of no calls. It is not safe for concurrent use.
type Sum struct {
	amount   float64
	currency string
	state    sumState
}

// sumState says whether the amount of a [Sum] is known.
//
//	from   to       when
//	empty  known    a call is priced
//	empty  unknown  a call has no price
//	known  unknown  the same, or it has another currency
type sumState int

const (
	sumEmpty sumState = iota
	sumKnown
	sumUnknown
)

// Add adds what a call has cost.
func (s *Sum) Add(amount float64, currency string) {
	s.AddSum(Sum{amount, currency, sumKnown})
}

// AddUnknown adds a call of unknown cost.
func (s *Sum) AddUnknown() { *s = Sum{state: sumUnknown} }

// AddSum adds what other calls have cost.
func (s *Sum) AddSum(other Sum) {
	switch {
	case other.state == sumEmpty, s.state == sumUnknown:
	case other.state == sumUnknown, s.state == sumKnown && s.currency != other.currency:
		s.AddUnknown()
	default:
		s.amount, s.currency, s.state = s.amount+other.amount, other.currency, sumKnown
	}
}

// Amount returns what all calls have cost, and false if that is not known, or if there were none.
func (s Sum) Amount() (amount float64, currency string, known bool) {
	return s.amount, s.currency, s.state == sumKnown
}
