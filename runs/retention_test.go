package runs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// A run that gets the ID of one that is gone must not continue its events.
// Rule distributed/Q9.
func TestRunRetention_EventsAreKeptNoLongerThanTheirRun(t *testing.T) {
	for _, c := range []struct {
		r    runs.Retention
		want time.Duration
	}{
		{runs.Retention{}, time.Hour},
		{runs.Retention{Events: 2 * time.Hour}, 2 * time.Hour},
		{runs.Retention{Done: time.Minute}, time.Minute},
		{runs.Retention{Failed: time.Minute, Events: time.Hour}, time.Minute},
		{runs.Retention{Events: -1}, 24 * time.Hour},
		{runs.Retention{Events: -1, Done: -1, Failed: -1}, -1},
		{runs.Retention{Events: 48 * time.Hour, Done: -1}, 48 * time.Hour},
	} {
		require.Equal(t, c.want, c.r.ForEvents(), "%+v", c.r)
	}
}
