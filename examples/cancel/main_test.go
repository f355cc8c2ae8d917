package main

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCancel runs in a bubble, where the tool takes no time.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		demotest.Shows(t, run,
			`archivist ← download: part 1`,
			`Stopped at the safe point CancelAfterToolCalls; saved as "archive".`,
			`archivist → download({"part":2})`,
			`archivist: All is here: part 1; part 2.`,
		)
	})
}
