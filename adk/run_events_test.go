package adk

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// keptEvents is a sink that keeps what it gets.
type keptEvents[M MessageType] struct{ all []*TypedAgentEvent[M] }

func (k *keptEvents[M]) send(e *TypedAgentEvent[M]) { k.all = append(k.all, e) }

// TestRun_NothingFollowsItsLastEvent: what a tool sends when its run has just failed must not come behind the error, which
// a reader takes for the end.
func TestRun_NothingFollowsItsLastEvent(t *testing.T) {
	kept := new(keptEvents[Message])
	r := &agentRun[Message]{Context: t.Context(), out: kept}
	failed := &AgentEvent{Err: errors.New("failed")}
	r.send(&AgentEvent{})
	r.sendLast(failed)
	late, w := schema.Pipe[Message](1)
	r.send(&AgentEvent{Output: &AgentOutput{MessageOutput: &MessageVariant{IsStreaming: true, MessageStream: late}}})
	require.True(t, w.Send(nil, nil), "the stream of an event that is dropped is closed")
	r.sendCommitted(&AgentEvent{})
	r.sendLast(&AgentEvent{})
	require.Len(t, kept.all, 2)
	require.Same(t, failed, kept.all[1])
}
