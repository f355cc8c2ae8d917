// Package testsize says how much a test does that could do any amount.
package testsize

import (
	"testing"

	"github.com/weftgo/weft/internal/mock/racedetector"
)

// Full reports whether a test does all that it was written for. With -short, as in make test, and with the race detector,
// which takes six times as long, it does a part that can still fail.
func Full() bool { return !racedetector.Enabled && !testing.Short() }
