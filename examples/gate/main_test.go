package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGate(t *testing.T) {
	demotest.Shows(t, run,
		`historian: The bridge was built in 1932.`,
		`(the gate rejects the answer: it names no source)`,
		`historian: The bridge was built in 1932. Source: the plaque at its northern end.`,
		`(the gate accepts the answer)`,
	)
}
