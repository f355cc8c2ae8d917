package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

func TestScope_Conforms(t *testing.T) {
	checkpointtest.Run(t, func(*testing.T) checkpoint.Store { return checkpoint.Scope(checkpoint.NewMemoryStore(), "acme") })
}

// TestScope_KeepsTenantsApart, also those that try not to be.
// Rules distributed/T2, distributed/T3.
func TestScope_KeepsTenantsApart(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	tenants := []string{"a", "a/", "a:", "", "1:a:", "4:1:a:", "ä"}
	for _, name := range tenants {
		s := checkpoint.Scope(store, name)
		_, err := s.Submit(t.Context(), "run", checkpoint.NewRun{Agent: "agent of " + name, Key: "k", Queue: "q"})
		require.NoError(t, err)
		require.NoError(t, s.Set(t.Context(), "plain", []byte(name)))
	}
	for _, name := range tenants {
		s := checkpoint.Scope(store, name)
		got, _, err := s.Get(t.Context(), "plain")
		require.NoError(t, err)
		require.Equal(t, name, string(got))
		n := 0
		for i, err := range s.List(t.Context(), checkpoint.Query{Key: "k"}) {
			require.NoError(t, err)
			require.Equal(t, "agent of "+name, i.Agent)
			require.Equal(t, name, i.Tenant)
			n++
		}
		require.Equal(t, 1, n)
		for _, due := range []checkpoint.Due{{}, {Queues: []string{"q"}}, {Agents: []string{"agent of " + name}}} {
			l, err := s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, due)
			require.NoError(t, err)
			require.Equal(t, "agent of "+name, l.Info().Agent)
			require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{}))
		}
		require.NoError(t, s.Stop(t.Context(), "run", checkpoint.StopRequest{}))
		_, err = s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
		require.ErrorIs(t, err, checkpoint.ErrNothingDue)
	}
	_, ok := checkpoint.As[*checkpoint.MemoryStore](checkpoint.Scope(store, "a"))
	require.True(t, ok)
	_, ok = checkpoint.As[*checkpoint.FileStore](checkpoint.Scope(store, "a"))
	require.False(t, ok)
}
