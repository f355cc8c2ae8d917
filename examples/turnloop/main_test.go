package main

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTurnloop runs in a bubble, where the search ends only after everything else has been done.
func TestTurnloop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		demotest.Shows(t, run,
			`A turn begins with: flights to Porto`,
			`travel ← search: 3 offers for flights to Porto`,
			`The turn has been stopped.`,
			`A turn begins with: no, trains to Porto`,
			`The loop has ended (restart). It has saved ["no, trains to Porto"] and ["a hotel in Porto"].`,
			`A turn continues with: no, trains to Porto; a hotel in Porto will have to wait`,
			`travel: I have 3 offers for no, trains to Porto.`,
			`A turn begins with: a hotel in Porto`,
			`travel: I have 3 offers for a hotel in Porto.`,
		)
	})
}
