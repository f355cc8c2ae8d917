package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
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
