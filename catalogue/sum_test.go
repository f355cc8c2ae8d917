package catalogue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
)

func TestSum_IsKnownIfEachCallIsInOneCurrency(t *testing.T) {
	known := func(s catalogue.Sum) bool { _, _, known := s.Amount(); return known }
	var s catalogue.Sum
	require.False(t, known(s), "no call has cost anything")
	s.AddSum(catalogue.Sum{})
	require.False(t, known(s))
	s.Add(1, "USD")
	s.Add(2, "USD")
	amount, currency, ok := s.Amount()
	require.True(t, ok)
	require.Equal(t, 3.0, amount)
	require.Equal(t, "USD", currency)
	other := s
	other.Add(1, "EUR")
	require.False(t, known(other))
	other.Add(1, "USD")
	require.False(t, known(other), "it never is again")
	s.AddSum(other)
	require.False(t, known(s))
}
