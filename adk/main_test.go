package adk

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
