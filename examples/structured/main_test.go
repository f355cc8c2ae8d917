package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestStructured(t *testing.T) {
	require.Equal(t, "2 of 5 stars, faults: [\"the lid leaks\"]\n", demotest.Run(t, ""))
}
