package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestRag(t *testing.T) {
	require.Contains(t, demotest.Run(t, ""), "Returns: goods can be sent back within 30 days.")
	require.Contains(t, demotest.Run(t, "", "What about the warranty?"), "what breaks within two years")
}
