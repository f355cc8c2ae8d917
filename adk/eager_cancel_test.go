package adk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
)

// TestEager_CancelKeepsFinishedResults: what ran early and has finished is saved with the cancelled run, and does not
// run again. The answer is complete in second 3.
// Rule agent/E-26.
func TestEager_CancelKeepsFinishedResults(t *testing.T) {
	streamed(t, testEagerCancel[ordinary], testEagerCancel[agentic])
}

func testEagerCancel[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	const resultA, resultB = `tool a#1: <{"q":1}>`, `tool b#2: <{"q":1}>`
	for name, c := range map[string]struct {
		a, b   int // how long the tools take
		mode   CancelMode
		at     time.Duration
		change func(*TypedChatModelAgentConfig[M])
		// ran and events are those until the run has stopped, after is what the resumed run does.
		ran, events []string
		after, rest []string
	}{
		"safe point waits for calls that run": {a: 1, b: 9, mode: CancelAfterChatModel,
			ran:    []string{"0s a#1 starts", "1s a#1 ends", "1s b#2 starts", "10s b#2 ends"},
			events: []string{"0s " + both, "3s " + resultA, "10s " + resultB, "10s error"},
			rest:   []string{ended}},
		"safe point starts no more": {a: 9, b: 1, mode: CancelAfterChatModel, change: sequentially[M],
			ran:    []string{"0s a#1 starts", "9s a#1 ends"},
			events: []string{"0s " + both, "9s " + resultA, "9s error"},
			after:  []string{"0s b#2 starts", "1s b#2 ends"}, rest: []string{resultB, ended}},
		"at once": {a: 1, b: 9, at: 5 * time.Second,
			ran:    []string{"0s a#1 starts", "1s a#1 ends", "1s b#2 starts", "5s b#2 is given up"},
			events: []string{"0s " + both, "3s " + resultA, "5s error"},
			after:  []string{"0s b#2 starts", "9s b#2 ends"}, rest: []string{resultB, ended}},
		"after the tools": {a: 1, b: 9, mode: CancelAfterToolCalls,
			ran:    []string{"0s a#1 starts", "1s a#1 ends", "1s b#2 starts", "10s b#2 ends"},
			events: []string{"0s " + both, "3s " + resultA, "10s " + resultB, "10s error"},
			rest:   []string{ended}},
	} {
		clock := &clocked{start: time.Now()}
		m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
		change := []func(*TypedChatModelAgentConfig[M]){eagerly[M]}
		if c.change != nil {
			change = append(change, c.change)
		}
		a := setup[M](t, m, []tool.BaseTool{clock.takes("a", c.a), clock.takes("b", c.b)}, change...)
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: true, CheckPointStore: memory{}})
		option, cancel := WithCancel()
		time.AfterFunc(c.at, func() { cancel(WithAgentCancelMode(c.mode)) })
		events, all := timedLines(t, clock.start, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
		var cancelled *CancelError
		require.True(t, errors.As(endError(t, all), &cancelled), "%s: %v", name, endError(t, all))
		require.Equal(t, c.mode, cancelled.Info.Mode, name)
		require.Equal(t, c.events, events, name)
		synctest.Wait()
		require.ElementsMatch(t, c.ran, clock.all(), name)

		clock.lines, clock.start = nil, time.Now()
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err, name)
		require.Equal(t, c.rest, linesOf(read(t, it)), name)
		require.ElementsMatch(t, c.after, clock.all(), name)
		require.Equal(t, []string{"user: hi", both, resultA, resultB}, m.asked[1], name)
		require.Len(t, m.asked, 2, name)
	}
}
