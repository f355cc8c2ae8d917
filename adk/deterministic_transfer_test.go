package adk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func handsOnTo(t *testing.T, agent Agent, names ...string) Agent {
	return AgentWithDeterministicTransferTo(t.Context(), &DeterministicTransferConfig{Agent: agent, ToAgentNames: names})
}

// TestDeterministicTransfer_AnErrorOfOneBranchPreventsIt: after an error there is no transfer, also if it is not the
// last event, as where agents run in parallel.
// Rule runtime/D2.
func TestDeterministicTransfer_AnErrorOfOneBranchPreventsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		both := parallelOf(t, "both",
			actor("fails", func(_ context.Context, send func(*AgentEvent)) { send(&AgentEvent{Err: broken}) }),
			actor("speaks", func(_ context.Context, send func(*AgentEvent)) {
				time.Sleep(time.Second)
				send(said("done"))
			}))
		m := &replies{all: []Message{transferTo("both"), schema.AssistantMessage("all done", nil)}}
		all := read(t, ask(t.Context(), Agent(flowOf(t, newOrdinary(t, "boss", m), handsOnTo(t, both, "boss"))), false))
		require.Equal(t, 1, m.n)
		require.ErrorIs(t, all[len(all)-2].Err, broken)
		require.Nil(t, all[len(all)-1].Action, "the last event is that of the other branch")
	})
}

// TestDeterministicTransfer_WhatIsSeenOutside: agents outside see what those inside have emitted, each event once, and
// not what was only shown of agents in their tools.
// Rule runtime/D3.
func TestDeterministicTransfer_WhatIsSeenOutside(t *testing.T) {
	inner := newOrdinary(t, "inner", &replies{all: []Message{schema.AssistantMessage("secret", nil)}})
	worker := setup(t, says(chatAnswer("", wanted{"inner", "1", `{"request":"?"}`}), chatAnswer("It is 42.")), nil,
		func(c *ChatModelAgentConfig) {
			c.Name = "worker"
			c.ToolsConfig.Tools = append(c.ToolsConfig.Tools, NewAgentTool(t.Context(), inner))
			c.ToolsConfig.EmitInternalEvents = true
			c.Handlers = append(c.Handlers, &askingGate{})
		})
	s := newTheatre()
	seq := sequenceOf(t, "seq", handsOnTo(t, sequenceOf(t, "chain", worker)), s.says("next"))
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: memory{}})
	points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	drainAll(t, resumeWith(t, r, map[string]any{points[0].ID: nil}))
	require.Equal(t, []string{
		"user: hi",
		"user: For context: [worker] called tool: `inner` with arguments: {\"request\":\"?\"}.",
		"user: For context: [worker] `inner` tool returned result: secret.",
		quotedLine("worker", "It is 42."),
	}, s.asked["next"])
}

// askingGate interrupts at the final answer, once.
type askingGate struct{ *BaseChatModelAgentMiddleware }

func (*askingGate) BeforeFinalAnswer(
	ctx context.Context, s *ChatModelAgentState,
) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
	if interrupted, _, _ := compose.GetInterruptState[any](ctx); !interrupted {
		return ctx, AcceptFinalAnswer, s, compose.Interrupt(ctx, "is it?")
	}
	return ctx, AcceptFinalAnswer, s, nil
}
