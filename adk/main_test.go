package adk

import (
	"testing"

	"go.uber.org/goleak"
)

// user-pain B3: no test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
