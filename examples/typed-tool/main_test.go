package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestTypedTool(t *testing.T) {
	require.Regexp(t, `^You have rolled a ([1-9]|1[0-9]|20)\.$`, demotest.Run(t, ""))
}
