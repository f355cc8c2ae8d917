package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
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
	arrive := func(e runlog.Event) {
		arrived := make(chan error, 1)
		go func() {
			after := runlog.Cursor{Seq: e.Seq - 1}
			for {
				for _, err := range reader.Read(t.Context(), "run", after) {
					arrived <- err
					return
				}
				if err := reader.Wait(t.Context(), "run", after); err != nil {
					arrived <- err
					return
				}
			}
		}()
		time.Sleep(10 * time.Millisecond)
		begun := time.Now()
		require.NoError(t, writer.Append(t.Context(), "run", []runlog.Event{e}))
		require.NoError(t, <-arrived)
		require.Less(t, time.Since(begun), time.Second)
	}
	for seq := uint64(1); seq <= 10; seq++ {
		arrive(runlog.Event{V: 1, Run: "run", Seq: seq, Type: runlog.ModelDelta, Span: 2,
			Data: &runlog.ModelDeltaData{Kind: runlog.Text, Text: "word "}})
	}
	arrive(runlog.Event{V: 1, Run: "run", Seq: 11, Type: runlog.ModelEnd, Span: 2, Data: &runlog.ModelEndData{}})
	n := 0
	for e, err := range reader.Read(t.Context(), "run", runlog.Cursor{}) {
		require.NoError(t, err)
		require.Equal(t, runlog.ModelEnd, e.Type)
		n++
	}
	require.Equal(t, 1, n)
}
