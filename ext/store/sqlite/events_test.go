package sqlite

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
)

func TestEvents_Conform(t *testing.T) {
	runlogtest.Run(t, func(t *testing.T) runlog.Store {
		events, err := newStore(t).OpenEvents(t.Context(), sqlrun.EventsConfig{})
		require.NoError(t, err)
		return events
	})
}

// Events of another process arrive after a poll.
func TestEvents_OfAnotherProcessArriveAfterAPoll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	var processes []*sqlrun.Events
	for range 2 {
		s, err := Open(t.Context(), path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		events, err := s.OpenEvents(t.Context(), sqlrun.EventsConfig{})
		require.NoError(t, err)
		processes = append(processes, events)
	}
	writer, reader := processes[0], processes[1]
	events := make([]runlog.Event, 5)
	for i := range events {
		events[i] = runlog.Event{V: 1, Run: "run", Seq: uint64(i) + 1, Type: runlog.Saved}
	}
	require.Less(t, runlogtest.Arrive(t, writer, reader, events...), time.Second)
}

// Who waits for events does not wait for a store that is closed, and nothing is left of it that looks for some: the check
// for goroutines behind the tests would find it.
func TestEvents_AreNotWaitedForWhenTheStoreIsClosed(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"))
	require.NoError(t, err)
	events, err := s.OpenEvents(t.Context(), sqlrun.EventsConfig{Poll: time.Hour})
	require.NoError(t, err)
	waited := make(chan error)
	go func() { waited <- events.Wait(t.Context(), "run", runs.Cursor{}) }()
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*Events).poll")
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	require.Error(t, <-waited)
	require.Error(t, events.Wait(t.Context(), "run", runs.Cursor{}))
}

// Deltas are gone when the message is there.
//
// Rule runlog/E2.
func TestEvents_ForgetDeltasWithTheirMessage(t *testing.T) {
	events, err := newStore(t).OpenEvents(t.Context(), sqlrun.EventsConfig{})
	require.NoError(t, err)
	delta := func(seq uint64) runlog.Event {
		return runlog.Event{V: 1, Run: "run", Seq: seq, Type: runlog.ModelDelta, Span: 2,
			Data: &runlog.ModelDeltaData{Kind: runlog.Text, Text: "word "}}
	}
	end := runlog.Event{V: 1, Run: "run", Seq: 5, Type: runlog.ModelEnd, Span: 2, Data: &runlog.ModelEndData{}}
	require.NoError(t, events.Append(t.Context(), "run", []runlog.Event{delta(1), delta(2)}))
	require.NoError(t, events.Append(t.Context(), "run", []runlog.Event{delta(3), delta(4), end}))
	var seqs []uint64
	for e, err := range events.Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		seqs = append(seqs, e.Seq)
	}
	require.Equal(t, []uint64{5}, seqs)
}

// A process has one goroutine that polls, and asks about all runs at once.
//
// Rule runlog/E7.
func TestEvents_HaveOnePollerForAllReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, count := range []int{1, 1000} {
		path := filepath.Join(t.TempDir(), "runs.db")
		var processes []runlog.Store
		for range 2 {
			s, err := Open(t.Context(), path)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			events, err := s.OpenEvents(t.Context(), sqlrun.EventsConfig{})
			require.NoError(t, err)
			processes = append(processes, events)
		}
		runlogtest.Watch(t, processes[0], processes[1], 1000, count)
	}
}
