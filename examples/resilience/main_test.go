package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestResilience(t *testing.T) {
	demotest.Shows(t, run,
		`A model that fails twice is called a third time:`,
		`call 2 of the first model: 503: the model is overloaded`,
		`call 3 of the first model: answers`,
		`assistant: Here is what the first model says about: tides`,
		`A model that fails for good is replaced:`,
		`call 3 of the first model: 503: the model is overloaded`,
		`over to the backup, because: exceeds max retries: last error: 503: the model is overloaded`,
		`call 1 of the backup: answers`,
		`assistant: Here is what the backup says about: tides`,
	)
}
