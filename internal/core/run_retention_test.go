package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run that gets the ID of one that is gone must not continue its events.
// Rule distributed/Q9.
func TestRunRetention_EventsAreKeptNoLongerThanTheirRun(t *testing.T) {
	for _, c := range []struct {
		r    RunRetention
		want time.Duration
	}{
		{RunRetention{}, time.Hour},
		{RunRetention{Events: 2 * time.Hour}, 2 * time.Hour},
		{RunRetention{Done: time.Minute}, time.Minute},
		{RunRetention{Failed: time.Minute, Events: time.Hour}, time.Minute},
		{RunRetention{Events: -1}, 24 * time.Hour},
		{RunRetention{Events: -1, Done: -1, Failed: -1}, -1},
		{RunRetention{Events: 48 * time.Hour, Done: -1}, 48 * time.Hour},
	} {
		require.Equal(t, c.want, c.r.ForEvents(), "%+v", c.r)
	}
}
