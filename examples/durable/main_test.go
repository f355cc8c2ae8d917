package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDurable(t *testing.T) {
	demotest.Shows(t, run,
		`tickets ← price: 40`,
		`(the bank has been paid)`,
		`It died. The second process:`,
		`Nobody knows how pay({"amount":40}) ended. The bank is asked.`,
		`tickets ← pay: receipt 1 over 40`,
		`tickets: The tickets are yours: 40; receipt 1 over 40.`,
		`The bank was paid 1 time(s).`,
	)
}

func TestDurable_NothingTwice(t *testing.T) {
	out := demotest.Output(t, run)
	require.Equal(t, 1, strings.Count(out, "the price is looked up"))
	require.Equal(t, 1, strings.Count(out, "tickets ← price"))
	require.Equal(t, 1, strings.Count(out, "the bank has been paid"))
}
