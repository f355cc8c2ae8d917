package main

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEager runs in a bubble, where time is exact. What happens at the same time has no order: it is not looked at.
func TestEager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		demotest.Shows(t, run,
			"300ms  the model has called 2 tools",
			"800ms  the model says: Go!",
			"Tools start as soon as their arguments are there:",
			"100ms  weather starts",
			"200ms  traffic starts",
			"300ms  the model has called 2 tools",
			"400ms  the result of weather is out",
			"500ms  the result of traffic is out",
			"700ms  the model says: Go!",
		)
	})
}
