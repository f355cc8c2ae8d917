package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// innerAgents are agents that a tool or a hook of another one may run by itself. Each answers "42" after a second.
func innerAgents(t *testing.T) map[string]Agent {
	slow := func(name string, answers ...Message) *ChatModelAgent {
		replies := recall(answers...)
		look := &toolFunc{"look", func(context.Context, string) (string, error) { return "6*7", nil }}
		return newOrdinary(t, name,
			&modelFunc[Message]{generate: func(ctx context.Context, in []Message, opts ...model.Option) (Message, error) {
				time.Sleep(time.Second)
				return replies.Generate(ctx, in, opts...)
			}}, look)
	}
	answer := schema.AssistantMessage("42", nil)
	looks := func(name string) *ChatModelAgent { return slow(name, callOf("look", "l", "{}"), answer) }
	loop, err := NewLoopAgent(t.Context(),
		&LoopAgentConfig{Name: "loop", SubAgents: []Agent{looks("one")}, MaxIterations: 2})
	require.NoError(t, err)
	par, err := NewParallelAgent(t.Context(), &ParallelAgentConfig{Name: "par", SubAgents: []Agent{looks("one")}})
	require.NoError(t, err)
	return map[string]Agent{
		"chat agent": looks("one"),
		"sequence":   sequenceOf(t, "seq", slow("one", schema.AssistantMessage("first", nil)), looks("two")),
		"loop":       loop,
		"parallel":   par,
		"transfer":   flowOf(t, slow("top", callOf(TransferToAgentToolName, "t", `{"agent_name":"sub"}`)), looks("sub")),
		"agent tool": newOrdinary(t, "mid", recall(callOf("one", "o", `{"request":"x"}`), answer),
			NewAgentTool(t.Context(), looks("one"))),
		"tool in a tool": newOrdinary(t, "mid", recall(callOf("ask", "o", "{}"), answer), askingTool(t, looks("one"))),
	}
}

// lastAnswer runs an agent and returns the text of its last message.
func lastAnswer(t *testing.T, ctx context.Context, agent Agent) (last string, err error) {
	for e := range agent.Run(ctx, &AgentInput{Messages: []Message{schema.UserMessage("q")}}).All() {
		if e.Err != nil {
			return "", e.Err
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			t.Error("the agent was interrupted, which its caller can do nothing with")
		}
		if m, _, err := GetMessage(e); err == nil && m != nil {
			last = m.Content
		}
	}
	return last, nil
}

func askingTool(t *testing.T, inner Agent) *toolFunc {
	return &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) { return lastAnswer(t, ctx, inner) }}
}

// TestNestedRun_InsideToolsAndHooks: code inside a chat agent may run any agent with the context that it has.
func TestNestedRun_InsideToolsAndHooks(t *testing.T) {
	for name := range innerAgents(t) {
		for _, where := range []string{"tool", "BeforeAgent", "BeforeModelRewriteState", "AfterModelRewriteState"} {
			synctest.Test(t, func(t *testing.T) {
				inner := innerAgents(t)[name]
				var answers []string
				ask := func(ctx context.Context, here string) error {
					if here != where {
						return nil
					}
					answer, err := lastAnswer(t, ctx, inner)
					answers = append(answers, answer)
					return err
				}
				h := &hooked[Message]{
					beforeAgent: func(ctx context.Context,
						rc *ChatModelAgentContext,
					) (context.Context, *ChatModelAgentContext, error) {
						return ctx, rc, ask(ctx, "BeforeAgent")
					},
					beforeModel: func(ctx context.Context, s *ChatModelAgentState,
						_ *ModelContext,
					) (context.Context, *ChatModelAgentState, error) {
						return ctx, s, ask(ctx, "BeforeModelRewriteState")
					},
					afterModel: func(ctx context.Context, s *ChatModelAgentState,
						_ *ModelContext,
					) (context.Context, *ChatModelAgentState, error) {
						return ctx, s, ask(ctx, "AfterModelRewriteState")
					},
				}
				asking := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) { return "ok", ask(ctx, "tool") }}
				outer := setup(t, recall(callOf("ask", "c", "{}"), schema.AssistantMessage("done", nil)), []tool.BaseTool{asking},
					with[Message](h))
				texts, _ := drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: outer}).Query(t.Context(), "hi"))
				require.Equal(t, "tester: done", texts[len(texts)-1], "%s in %s", name, where)
				require.Contains(t, answers, "42", "%s in %s", name, where)
			})
		}
	}
}

// TestNestedRun_SeesTheCallThatStartedIt: an agent that a tool runs is shown what the calling agent has said.
func TestNestedRun_SeesTheCallThatStartedIt(t *testing.T) {
	replies := recall(schema.AssistantMessage("42", nil))
	inner := sequenceOf(t, "seq", newOrdinary(t, "one", replies))
	outer := newOrdinary(t, "outer", recall(callOf("ask", "c", "{}"), schema.AssistantMessage("done", nil)),
		askingTool(t, inner))
	drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: outer}).Query(t.Context(), "hi"))
	require.Len(t, replies.seen[0], 2)
	require.Equal(t, "hi", replies.seen[0][0].Content)
	require.Contains(t, replies.seen[0][1].Content, "[outer] called tool: `ask`")
}

// TestNestedRun_ASafePointCancelLeavesItAlone: a recursive cancel at safe points stops the agent that it is for, and
// not one that its tool has started and waits for: the tool would take half an answer for a whole one.
// Rule runtime/C17.
func TestNestedRun_ASafePointCancelLeavesItAlone(t *testing.T) {
	for name := range innerAgents(t) {
		synctest.Test(t, func(t *testing.T) {
			replies := recall(callOf("ask", "c", "{}"), schema.AssistantMessage("done", nil))
			outer := newOrdinary(t, "outer", replies, askingTool(t, innerAgents(t)[name]))
			r := NewRunner(t.Context(), RunnerConfig{Agent: outer, CheckPointStore: memory{}})
			option, cancel := WithCancel()
			it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			time.Sleep(time.Second / 2)
			handle, _ := cancel(WithAgentCancelMode(CancelAfterChatModel|CancelAfterToolCalls), WithRecursive())
			require.NotNil(t, collect(t, it).err, name)
			require.NoError(t, handle.Wait())
			texts, _ := drainAll(t, resumeWith(t, r, nil))
			require.Equal(t, "outer: done", texts[len(texts)-1], name)
			seen := replies.seen[len(replies.seen)-1]
			require.Equal(t, "42", seen[len(seen)-1].Content, name)
		})
	}
}

// TestNestedRun_AnImmediateCancelStopsItQuietly: an agent that a tool runs ends with the call, and emits no interrupt.
func TestNestedRun_AnImmediateCancelStopsItQuietly(t *testing.T) {
	for name := range innerAgents(t) {
		synctest.Test(t, func(t *testing.T) {
			outer := newOrdinary(t, "outer", recall(callOf("ask", "c", "{}"), schema.AssistantMessage("done", nil)),
				askingTool(t, innerAgents(t)[name]))
			option, cancel := WithCancel()
			it := NewRunner(t.Context(), RunnerConfig{Agent: outer}).Query(t.Context(), "hi", option)
			time.Sleep(time.Second / 2)
			_, _ = cancel(WithRecursive())
			require.NotNil(t, collect(t, it).err, name)
			time.Sleep(time.Minute) // it has ended by then
		})
	}
}
