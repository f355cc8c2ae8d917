package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestWorkers_PayEveryOrderOnceAlthoughTheyAreKilledAndFrozen(t *testing.T) {
	runs := "20"
	if testing.Short() {
		runs = "5"
	}
	out := demotest.Run(t, "", "-runs", runs)
	require.Contains(t, out, "Every order was approved once and paid once.")
	require.Contains(t, out, "The first one: The tickets are yours: 40; approved: true; receipt for order-000 over 40; "+
		"on its way: the short way.")
}
