package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

func TestScope_Conforms(t *testing.T) {
	conformsInMemory(t, func(s *clockedStore) checkpoint.Store { return checkpoint.Scope(s, "acme") })
}

// TestScope_KeepsTenantsApart, also those that try not to be.
// Rules distributed/T2, distributed/T3.
func TestScope_KeepsTenantsApart(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	files, err := checkpoint.NewFileStore(t.TempDir())
	require.NoError(t, err)
	for _, below := range []runs.Store{store, files} {
		checkpointtest.Tenants(t, func(name string) runs.Store { return checkpoint.Scope(below, name) })
	}
	_, ok := checkpoint.As[*checkpoint.MemoryStore](checkpoint.Scope(store, "a"))
	require.True(t, ok)
	_, ok = checkpoint.As[*checkpoint.FileStore](checkpoint.Scope(store, "a"))
	require.False(t, ok)
}
