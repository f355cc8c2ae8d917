package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMiddleware(t *testing.T) {
	demotest.Shows(t, run,
		`assistant → calendar({"person":"Ada"})`,
		`assistant ← calendar: Ada has time on Thursday (call 1 of calendar)`,
		`assistant: The system says: Today is Monday. The calendar says: Ada has time on Thursday (call 1 of calendar)`,
	)
}
