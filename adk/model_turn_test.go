package adk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTurnPhase_Transitions is the table at turnPhase.
func TestTurnPhase_Transitions(t *testing.T) {
	legal := map[turnPhase][]turnPhase{
		turnNotBegun: {turnAsked, turnAnswered, turnHooked},
		turnAsked:    {turnAnswered, turnHooked, turnLost},
		turnAnswered: {turnHooked, turnLost},
		turnHooked:   {turnLost},
		turnLost:     {},
	}
	for from, all := range legal {
		for to := turnNotBegun; to <= turnLost; to++ {
			require.Equal(t, contains(all, to), from.mayBecome(to), "%d to %d", from, to)
			var progress turnProgress
			progress.phase.Store(int32(from))
			switch {
			case to == turnLost:
				progress.lose()
				require.Equal(t, from != turnNotBegun, progress.get() == turnLost)
			case from == turnLost:
				progress.advance(to)
				require.Equal(t, turnLost, progress.get())
			case contains(all, to):
				progress.advance(to)
				require.Equal(t, to, progress.get())
			default:
				require.Panics(t, func() { progress.advance(to) }, "%d to %d", from, to)
			}
		}
	}
	var progress turnProgress
	progress.advance(turnAsked)
	progress.begin()
	require.Equal(t, turnNotBegun, progress.get())
}

func contains(all []turnPhase, p turnPhase) bool {
	for _, one := range all {
		if one == p {
			return true
		}
	}
	return false
}
