package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestTraces_AreATreeOfWhatRan(t *testing.T) {
	require.Equal(t, `It is sunny in Lisbon.
invoke_agent guide
  chat
  execute_tool weather
  chat
`, demotest.Run(t, ""))
}
