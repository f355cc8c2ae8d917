package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
)

func TestEvents_Conform(t *testing.T) {
	ofTest(t)
	runlogtest.Run(t, func(t *testing.T) runlog.Store {
		events, err := newStore(t).OpenEvents(t.Context())
		require.NoError(t, err)
		return events
	})
}

// A reader hears at once of what another process writes.
//
// Rule runlog/E6.
func TestEvents_OfAnotherProcessArriveAtOnce(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	open := func() runlog.Store {
		s, err := Open(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		events, err := s.OpenEvents(t.Context())
		require.NoError(t, err)
		return events
	}
	writer, reader := open(), open()
	time.Sleep(300 * time.Millisecond) // until both listen
	var latest time.Duration
	for seq := uint64(1); seq <= 20; seq++ {
		latest = max(latest, runlogtest.Arrive(t, writer, reader, runlog.Event{V: 1, Run: "run", Seq: seq, Type: runlog.Saved}))
	}
	t.Logf("the latest of 20 events came after %v", latest)
	require.Less(t, latest, 900*time.Millisecond, "that is a poll")
}

// A process has one connection that hears, and one goroutine that looks, for all readers.
//
// Rule runlog/E7.
func TestEvents_HaveOneListenerForAllReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, runs := range []int{1, 1000} {
		url := newDatabase(t, ofTest(t))
		var processes []runlog.Store
		for range 2 {
			s, err := Open(t.Context(), url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			events, err := s.OpenEvents(t.Context())
			require.NoError(t, err)
			processes = append(processes, events)
		}
		runlogtest.Watch(t, processes[0], processes[1], 1000, runs)
	}
}
