package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestResume(t *testing.T) {
	demotest.Shows(t, run,
		`travel → book_hotel({"city":"Porto","nights":2})`,
		`The run has stopped at agent:travel;tool:book_hotel:call_1`,
		`and asks: Book 2 nights in Porto?`,
		`travel ← book_hotel: booked: 2 nights in Porto`,
		`travel: Here is what I know: booked: 2 nights in Porto.`,
	)
}
