package adk

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// statusSender sends an event of its own in a hook, and is cancelled in AfterAgent in the first life of the run.
func statusSender(where string, cancel func()) *hooked[Message] {
	say := func(ctx context.Context, here string) error {
		if here != where {
			return nil
		}
		return SendEvent(ctx, EventFromMessage(schema.AssistantMessage("status", nil), nil, schema.Assistant, ""))
	}
	lives := 0
	return &hooked[Message]{
		beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
			return ctx, rc, say(ctx, "BeforeAgent")
		},
		afterAgent: func(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
			if err := say(ctx, "AfterAgent"); err != nil {
				return ctx, err
			}
			if lives++; lives == 1 {
				cancel()
				<-ctx.Done()
			}
			return ctx, ctx.Err()
		},
	}
}

// TestResume_AnswerIsEmittedBehindEventsOfHooks: what hooks emit is not the answer. A run that was cancelled behind its
// answer emits it when it is resumed, whatever its hooks emit then.
func TestResume_AnswerIsEmittedBehindEventsOfHooks(t *testing.T) {
	for where, want := range map[string][]string{
		"nowhere":     {"tester: THE ANSWER"},
		"BeforeAgent": {"tester: status", "tester: THE ANSWER"},
		"AfterAgent":  {"tester: status", "tester: THE ANSWER"},
	} {
		t.Run(where, func(t *testing.T) {
			option, cancel := WithCancel()
			h := statusSender(where, func() { cancel() })
			a := setup(t, recall(schema.AssistantMessage("THE ANSWER", nil)), nil, with[Message](h))
			r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
			require.NotNil(t, collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option)).err)
			texts, _ := drainAll(t, resumeWith(t, r, nil))
			require.Equal(t, want, texts)
		})
	}
}

// TestResume_AnswerThatAGateHeldSaysThatItWasEmittedBefore: a gate asks behind the answer, which the resumed run emits again.
func TestResume_AnswerThatAGateHeldSaysThatItWasEmittedBefore(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		gate := &hooked[Message]{finalAnswer: func(ctx context.Context, s *ChatModelAgentState) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
			if target, _, _ := tool.GetResumeContext[any](ctx); target {
				return ctx, AcceptFinalAnswer, s, nil
			}
			return ctx, AcceptFinalAnswer, s, tool.Interrupt(ctx, "may it go out?")
		}}
		a := setup(t, recall(schema.AssistantMessage("THE ANSWER", nil)), nil, with[Message](gate))
		r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}, EnableStreaming: streaming})
		emitted := func(events *AsyncIterator[*AgentEvent]) (replays []bool, asked map[string]any) {
			for e := range events.All() {
				require.NoError(t, e.Err)
				if e.Action != nil && e.Action.Interrupted != nil {
					asked = map[string]any{e.Action.Interrupted.InterruptContexts[0].ID: true}
					continue
				}
				m, _, err := GetMessage(e)
				require.NoError(t, err)
				require.Equal(t, "THE ANSWER", m.Content)
				replays = append(replays, e.IsReplay())
			}
			return replays, asked
		}
		replays, asked := emitted(r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Equal(t, []bool{false}, replays)
		resumed, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: asked})
		require.NoError(t, err)
		replays, _ = emitted(resumed)
		require.Equal(t, []bool{true}, replays)
	}
}

// TestResume_AgentToolGivesItsAnswer: the result of an agent tool that was cancelled behind its answer is the answer,
// and not what a hook emitted when it was resumed.
func TestResume_AgentToolGivesItsAnswer(t *testing.T) {
	option, cancel := WithCancel()
	h := statusSender("BeforeAgent", func() { cancel(WithRecursive()) })
	inner := setup(t, recall(schema.AssistantMessage("THE ANSWER", nil)), nil, with[Message](h))
	outer := recall(callOf("tester", "c1", `{"request":"x"}`), schema.AssistantMessage("done", nil))
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "outer", outer, NewAgentTool(t.Context(), inner)),
		CheckPointStore: memory{}})
	require.NotNil(t, collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option)).err)
	drainAll(t, resumeWith(t, r, nil))
	asked := outer.seen[len(outer.seen)-1]
	require.Equal(t, "THE ANSWER", asked[len(asked)-1].Content)
}

// TestSendEvent_WhileAResumedRunEnds: a tool may still emit while its resumed run ends. With -race.
func TestSendEvent_WhileAResumedRunEnds(t *testing.T) {
	for range 100 {
		stop, stopped := make(chan struct{}), make(chan struct{})
		reporting := &toolFunc{"t", func(ctx context.Context, _ string) (string, error) {
			if was, _, _ := tool.GetInterruptState[any](ctx); !was {
				return "", tool.Interrupt(ctx, "?")
			}
			go func() {
				defer close(stopped)
				for range 2000 {
					select {
					case <-stop:
						return
					default:
						_ = SendEvent(ctx, EventFromMessage(schema.AssistantMessage("progress", nil), nil, schema.Assistant, ""))
					}
				}
			}()
			return "r", nil
		}}
		a := newOrdinary(t, "a", recall(callOf("t", "c1", "{}"), schema.AssistantMessage("done", nil)), reporting)
		r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
		drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		drainAll(t, resumeWith(t, r, nil))
		close(stop)
		select {
		case <-stopped:
		case <-time.After(10 * time.Second):
			t.Fatal("the tool is stuck")
		}
	}
}
