package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// TestSuspicionOf_FollowsFromTheDeathsOfARun.
// Rule distributed/D12.
func TestSuspicionOf_FollowsFromTheDeathsOfARun(t *testing.T) {
	for _, c := range []struct {
		most, attempts int
		want           suspicion
	}{
		{10, 0, innocent}, {10, 2, innocent}, {10, 3, suspect}, {10, 9, suspect}, {10, 10, poisoned}, {10, 11, poisoned},
		{2, 0, innocent}, {2, 1, suspect}, {2, 2, poisoned}, {1, 0, innocent}, {1, 1, poisoned},
	} {
		d := New(checkpoint.NewMemoryStore(), Config{MaxAttempts: c.most})
		require.Equal(t, c.want, d.suspicionOf(runs.Info{Attempts: c.attempts}), "%d of %d", c.attempts, c.most)
	}
}

// TestTurnTaker_HandsOutOneTurnAtATime.
func TestTurnTaker_HandsOutOneTurnAtATime(t *testing.T) {
	var turns turnTaker
	first := turns.take()
	require.NotNil(t, first)
	require.Nil(t, turns.take())
	first()
	second := turns.take()
	require.NotNil(t, second)
	first() // again: the turn is not its own any more
	require.Nil(t, turns.take())
	second()
}
