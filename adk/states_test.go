package adk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestAttemptPhase_TheFirstVerdictStands is the table at attemptPhase: an attempt is settled once.
func TestAttemptPhase_TheFirstVerdictStands(t *testing.T) {
	for first := attemptAccepted; first <= attemptRejected; first++ {
		for second := attemptAccepted; second <= attemptRejected; second++ {
			turn := new(modelTurn[*schema.Message])
			a := &modelAttempt[*schema.Message]{turn: turn, verdict: make(chan struct{})}
			turn.open = a
			a.settle(first, errStopped)
			require.Nil(t, turn.open)
			a.settle(second, nil)
			require.Equal(t, first, a.phase)
			require.ErrorIs(t, a.endErr, errStopped)
			<-a.verdict
		}
	}
}

// TestEntryStanding_OnlyGrows is the table at entryStanding.
func TestEntryStanding_OnlyGrows(t *testing.T) {
	for from := entryCounts; from <= entrySuperseded; from++ {
		for to := entryCounts; to <= entrySuperseded; to++ {
			var i historyItem[*schema.Message]
			i.become(from)
			i.become(to)
			require.True(t, i.is(max(from, to)), "%d to %d", from, to)
		}
	}
}

// TestEventOrigin_WhichEventsRepeatAnEarlierProcess is the list at eventOrigin.
func TestEventOrigin_WhichEventsRepeatAnEarlierProcess(t *testing.T) {
	replayed := map[eventOrigin]bool{originReplayedSteps: true, originReplayedHistory: true}
	for o := originLive; o <= originReplayedHistory; o++ {
		require.Equal(t, replayed[o], o.isReplayed(), "origin %d", o)
	}
}
