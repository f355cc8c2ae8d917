package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARunOnFiles(t *testing.T) {
	dir := t.TempDir()
	holder, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	another, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	checkpointtest.Stops(t, holder, another)
}

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARunInMemory(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	checkpointtest.Stops(t, store, store)
}

// TestStop_TheLastOfTwoInARowArrives: the second one may be written before the clock of the file system has moved on.
// Rule distributed/F18.
func TestStop_TheLastOfTwoInARowArrives(t *testing.T) {
	store, err := checkpoint.NewFileStore(t.TempDir())
	require.NoError(t, err)
	for range 50 {
		l, err := store.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{}})
		require.NoError(t, err)
		require.NoError(t, store.Stop(t.Context(), "run", runs.StopRequest{Reason: "when it suits"}))
		require.NoError(t, store.Stop(t.Context(), "run", runs.StopRequest{Reason: "now", Immediate: true}))
		var last runs.StopRequest
		for len(l.Stops()) > 0 {
			last = <-l.Stops()
		}
		require.Equal(t, "now", last.Reason)
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done}))
		require.NoError(t, store.Remove(t.Context(), "run", false))
	}
}
