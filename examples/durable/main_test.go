package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDurable_PaysOnceAlthoughItsProcessIsKilled(t *testing.T) {
	out := demotest.Run(t, "")
	for _, line := range []string{
		`(the bank has been paid, and the process is killed)`,
		`It died. The second process:`,
		`Nobody knows how pay({"amount":40}) ended. The bank is asked.`,
		`tickets ← pay: receipt 1 over 40`,
		`tickets: The tickets are yours: 40; receipt 1 over 40.`,
		`The bank was paid 1 time(s).`,
	} {
		require.Equal(t, 1, strings.Count(out, line), "%q in\n%s", line, out)
	}
	require.Equal(t, 1, strings.Count(out, "tickets ← price: 40"), out)
	require.Equal(t, 1, strings.Count(out, "the price is looked up"), out)
}
