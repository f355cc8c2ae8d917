package adk

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/schema"
)

// breaker is an agent in a loop of three rounds, whose tool breaks the loop in the first one.
func breaker(t *testing.T) (loop Agent, replies *recalling) {
	t.Helper()
	enough := idempotentTool{&toolFunc{"enough", func(ctx context.Context, _ string) (string, error) {
		return "broken", SendToolGenAction(ctx, "enough", NewBreakLoopAction("a"))
	}}}
	replies = recall(callOf("enough", "c", "{}"), schema.AssistantMessage("round done", nil))
	loop, err := NewLoopAgent(t.Context(), &LoopAgentConfig{Name: "loop", MaxIterations: 3,
		SubAgents: []Agent{newOrdinary(t, "a", replies, enough)}})
	require.NoError(t, err)
	return loop, replies
}

// TestLoop_BrokenBeforeAStopEnds: a loop that a tool has broken ends with its agent, also if the run stops in between.
func TestLoop_BrokenBeforeAStopEnds(t *testing.T) {
	loop, replies := breaker(t)
	r := NewRunner(t.Context(), RunnerConfig{Agent: loop, CheckPointStore: memory{}})
	option, cancel := WithCancel()
	cancel(WithAgentCancelMode(CancelAfterToolCalls), WithRecursive())
	require.NotNil(t, collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option)).err)
	texts, _ := drainAll(t, resumeWith(t, r, nil))
	require.Equal(t, "a: round done", texts[len(texts)-1])
	require.Equal(t, 2, replies.n)
}

// TestLoop_BrokenBeforeADeathEnds: the same for a process that dies.
func TestLoop_BrokenBeforeADeathEnds(t *testing.T) {
	for steps := int32(1); ; steps++ {
		var left atomic.Int32
		left.Store(steps)
		loop, replies := breaker(t)
		r := NewRunner(t.Context(), RunnerConfig{Agent: loop, Durability: EveryStep,
			CheckPointStore: dyingJournal{checkpoint.NewMemoryStore(), &left}})
		if lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))) == nil {
			require.Greater(t, steps, int32(4))
			return
		}
		left.Store(1000)
		texts, _ := drainAll(t, resumeWith(t, r, nil))
		require.Equal(t, "a: round done", texts[len(texts)-1], "died after %d steps", steps)
		require.LessOrEqual(t, replies.n, 3, "died after %d steps", steps)
	}
}
