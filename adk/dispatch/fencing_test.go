package dispatch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// TestGetFencingToken_IsThatOfTheRunWhereverTheToolIs: also in agents that are tools, two deep, in workflows inside them.
// Rules distributed/F10, distributed/F16.
func TestGetFencingToken_IsThatOfTheRunWhereverTheToolIs(t *testing.T) {
	for place, in := range placesOfAgents {
		t.Run(place, func(t *testing.T) {
			var token uint64
			look := toolNamed(t, "look", func(ctx context.Context) (string, error) {
				token = adk.GetFencingToken(ctx)
				return "seen", nil
			})
			store := checkpoint.NewMemoryStore()
			d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(in(t, agentOf(t, "a", look)))}})
			_, err := d.Submit(t.Context(), jobOf("1", "a"))
			require.NoError(t, err)
			o, err := d.Execute(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Done, o.Status, o.Err)
			info, _, err := store.Inspect(t.Context(), "1")
			require.NoError(t, err)
			require.NotZero(t, token)
			require.Equal(t, info.Token, token)
		})
	}
}
