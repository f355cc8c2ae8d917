package adk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Rule runtime/C14.
func TestCancel_AReturnDirectlyRoundIsNoSafePoint(t *testing.T) {
	child := newOrdinary(t, "child", &replies{all: []Message{chatAnswer("child done")}})
	parent := newOrdinary(t, "parent", &replies{all: []Message{callOf(TransferToAgentToolName, "t", `{"agent_name":"child"}`)}})
	flow, err := SetSubAgents(t.Context(), parent, []Agent{child})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flow, CheckPointStore: store})
	option, cancel := WithCancel()
	cancel(WithAgentCancelMode(CancelAfterToolCalls))
	out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
	texts := out.texts
	if out.err != nil { // either is right, as long as nothing is lost
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		texts = append(texts, collect(t, it).texts...)
	}
	require.Equal(t, []string{"parent: ", "parent: successfully transferred to agent [child]", "child: child done"}, texts)
}
