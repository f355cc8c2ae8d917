package adk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAgeOf_CountsWhileTheMachineSleeps: then the monotonic clock stands still and the other one does not.
// Rule distributed/F7.
func TestAgeOf_CountsWhileTheMachineSleeps(t *testing.T) {
	require.InDelta(t, 0, ageOf(time.Now()).Seconds(), 1)
	asleep := time.Now().Round(0).Add(-time.Hour) // no monotonic time
	require.InDelta(t, 3600, ageOf(asleep).Seconds(), 1)
	set := time.Now().Add(-time.Minute) // the wall clock is behind, and the monotonic one counts
	require.GreaterOrEqual(t, ageOf(set), time.Minute)
}
