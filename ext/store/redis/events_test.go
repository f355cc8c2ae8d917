package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
)

func TestEvents_Conform(t *testing.T) {
	newStore(t, nil)
	runlogtest.Run(t, func(t *testing.T) runlog.Store { return newStore(t, nil).OpenEvents() })
}

// A reader hears at once of what another process writes, and deltas are gone with their message.
//
// Rules runlog/E2, runlog/E6.
func TestEvents_OfAnotherProcessArriveAtOnce(t *testing.T) {
	store := newStore(t, nil)
	writer, reader := store.OpenEvents(), store.OpenEvents()
	events := make([]runlog.Event, 11)
	for i := range events {
		events[i] = runlog.Event{V: 1, Run: "run", Seq: uint64(i) + 1, Type: runlog.ModelDelta, Span: 2,
			Data: &runlog.ModelDeltaData{Kind: runlog.Text, Text: "word "}}
	}
	events[10].Type, events[10].Data = runlog.ModelEnd, &runlog.ModelEndData{}
	require.Less(t, runlogtest.Arrive(t, writer, reader, events...), 300*time.Millisecond)
	n := 0
	for e, err := range reader.Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		require.Equal(t, runlog.ModelEnd, e.Type)
		n++
	}
	require.Equal(t, 1, n)
}
