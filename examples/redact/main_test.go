package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestRedact(t *testing.T) {
	require.Equal(t, "The settings are: host=db.example.com password=[redacted]\n", demotest.Run(t, ""))
}
