package checkpoint_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// waking is a store that wakes workers, and notes what for.
type waking struct {
	*checkpoint.MemoryStore
	due  runs.Due
	wake chan struct{}
}

func (w *waking) Wake(_ context.Context, due runs.Due) <-chan struct{} {
	w.due = due
	return w.wake
}

// everyWrapper is a store in all wrappers.
func everyWrapper(t *testing.T, below runs.Store, keys checkpoint.Keys) runs.Store {
	t.Helper()
	blobs, err := checkpoint.NewFileBlobs(t.TempDir())
	require.NoError(t, err)
	return checkpoint.Seal(checkpoint.Spill(checkpoint.Scope(below, "acme"), blobs, 512), keys)
}

// TestWrappers_OfferWhatTheStoreBelowDoes: it wakes workers, by its own names, reports requests to stop without a
// goroutine, and can be sealed again.
// Rule distributed/S1.
func TestWrappers_OfferWhatTheStoreBelowDoes(t *testing.T) {
	below := &waking{MemoryStore: checkpoint.NewMemoryStore(), wake: make(chan struct{}, 1)}
	store := everyWrapper(t, below, checkpoint.OneKey("1", testKey))
	waker, ok := checkpoint.As[runs.Waker](store)
	require.True(t, ok)
	require.NotNil(t, waker.Wake(t.Context(), runs.Due{Queues: []string{"q"}, Agents: []string{"a"}}))
	require.Equal(t, runs.Due{Queues: []string{"4:acme:q"}, Agents: []string{"4:acme:a"}}, below.due)

	lease, err := store.Acquire(t.Context(), "1", runs.LeaseRequest{Create: &runs.Spec{Agent: "a"}})
	require.NoError(t, err)
	stops := make(chan runs.StopRequest, 1)
	before := runtime.NumGoroutine()
	core.NotifyStops(lease, make(chan struct{}), func(how runs.StopRequest) { stops <- how })
	require.Equal(t, before, runtime.NumGoroutine())
	require.NoError(t, store.Stop(t.Context(), "1", runs.StopRequest{Reason: "lunch"}))
	require.Equal(t, "lunch", (<-stops).Reason)
}

// TestReseal_ReachesWhatIsKeptElsewhere, and what belongs to a tenant.
// Rules distributed/S1, distributed/X3.
func TestReseal_ReachesWhatIsKeptElsewhere(t *testing.T) {
	blobs, err := checkpoint.NewFileBlobs(t.TempDir())
	require.NoError(t, err)
	checkpointtest.Reseal(t, checkpoint.Spill(checkpoint.Scope(checkpoint.NewMemoryStore(), "acme"), blobs, 512))

	below := checkpoint.NewMemoryStore()
	keys := rotating{checkpoint.OneKey("old", bytes.Repeat([]byte{1}, 32)), checkpoint.OneKey("new", bytes.Repeat([]byte{2}, 32))}
	spilled := checkpoint.Spill(below, blobs, 512)
	large := []byte(strings.Repeat("large", 1000))
	require.NoError(t, checkpoint.Seal(spilled, keys.old).Set(t.Context(), "1", large))
	n, err := checkpoint.Reseal(t.Context(), checkpoint.Seal(spilled, keys))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, _, err := checkpoint.Seal(spilled, keys.current).Get(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, large, got)
	small, _, err := below.Get(t.Context(), "1")
	require.NoError(t, err)
	require.Less(t, len(small), 512)
}
