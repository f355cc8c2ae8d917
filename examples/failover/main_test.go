package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestFailover(t *testing.T) {
	out := demotest.Run(t, "")
	require.Contains(t, out, "Rivers are water that  … (broken off; the next model answers)\n")
	require.Contains(t, out, "\nRivers are water that has somewhere to be.\n")
}
