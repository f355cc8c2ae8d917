package adk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// TestLoop_EachCallHasOneResultInOrder: however long tools take, each call has exactly one result before the next call
// of the model, in the order of the calls, and one event.
func TestLoop_EachCallHasOneResultInOrder(t *testing.T) {
	bubbled(t, testLoopResults[ordinary], testLoopResults[agentic])
}

func testLoopResults[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		delays := map[string]time.Duration{}
		var calls []wanted
		want := []string{"user: hi", ""}
		for i := range 8 {
			args := fmt.Sprintf(`{"i":%d}`, i)
			delays[args] = time.Duration(random.IntN(1000)) * time.Millisecond
			calls = append(calls, wanted{"t", fmt.Sprint(i), args})
			want = append(want, fmt.Sprintf("tool t#%d: %s", i, args))
		}
		slow := &toolFunc{"t",
			func(_ context.Context, args string) (string, error) { time.Sleep(delays[args]); return args, nil }}
		m := says(d.answer("", calls...), d.answer("done"))
		all := linesOf(read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{slow}, func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.EagerExecution = round%2 == 0
			c.ToolsConfig.ExecuteSequentially = round%3 == 0
			c.ToolsConfig.MaxParallelCalls = round % 4
		}), streaming)))
		want[1] = all[0]
		require.Equal(t, want, m.transcript()[1])
		require.ElementsMatch(t, want[2:], all[1:len(all)-1])
	}
}

// TestLoop_APanicInAnyToolFailsTheRunAlike: whichever of the tools panics, the run fails the same way, and its
// siblings have ended before.
func TestLoop_APanicInAnyToolFailsTheRunAlike(t *testing.T) {
	bubbled(t, testPanicK[ordinary], testPanicK[agentic])
}

func testPanicK[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		for k := range 3 {
			running := 0
			tools := []tool.BaseTool{&toolFunc{"t", func(ctx context.Context, args string) (string, error) {
				if args == fmt.Sprintf(`{"i":%d}`, k) {
					panic("boom")
				}
				running++
				defer func() { running-- }()
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				return "ok", nil
			}}}
			var calls []wanted
			for i := range 3 {
				calls = append(calls, wanted{"t", fmt.Sprint(i), fmt.Sprintf(`{"i":%d}`, i)})
			}
			a := setup(t, says(d.answer("", calls...)), tools, func(c *TypedChatModelAgentConfig[M]) {
				c.ToolsConfig.EagerExecution, c.ToolsConfig.ExecuteSequentially = eager, false
				c.ToolsConfig.MaxParallelCalls = 1 // the counter is not locked
			})
			err := endError(t, read(t, bare(t.Context(), a, streaming)))
			require.ErrorContains(t, err, "panic error:", "tool %d", k)
			require.ErrorContains(t, err, "boom")
			synctest.Wait()
			require.Zero(t, running)
		}
	}
}

// TestLoop_CallsAnywhereInAnAnswer: calls are found wherever in an answer they come, beside text and chunks that have
// only token counts; the counts are the same as in the answer that was not streamed.
func TestLoop_CallsAnywhereInAnAnswer(t *testing.T) {
	usage := func(n int) *schema.Message {
		return &schema.Message{Role: schema.Assistant,
			ResponseMeta: &schema.ResponseMeta{Usage: &schema.TokenUsage{TotalTokens: n, PromptTokens: n - 1,
				CompletionTokens: 1}}}
	}
	call, text := chunkAt[Message](0, wanted{"t", "c1", object}), chatAnswer("text")
	thinks := &schema.Message{Role: schema.Assistant, ReasoningContent: "hm"}
	orders := [][]Message{
		{text, call, usage(9)}, {call, text, usage(9)}, {usage(1), text, call, text, usage(9)}, {thinks, call, usage(9)},
		{thinks, text, usage(9), call},
	}
	for _, chunks := range orders {
		for _, streaming := range []bool{false, true} {
			for _, eager := range []bool{false, true} {
				m := &scripted[Message]{answers: [][]Message{chunks, {chatAnswer("done")}}}
				a := setup(t, m, []tool.BaseTool{echo("t")}, func(c *ChatModelAgentConfig) { c.ToolsConfig.EagerExecution = eager })
				all := read(t, bare(t.Context(), a, streaming))
				require.Len(t, all, 3)
				require.Equal(t, []string{answered, ended}, linesOf(all)[1:])
				require.Equal(t, 9, all[0].message.ResponseMeta.Usage.TotalTokens)
				require.Equal(t, 9, m.histories[1][1].ResponseMeta.Usage.TotalTokens)
				require.Equal(t, all[0].message.Content, m.histories[1][1].Content, "the history has the text of the event")
			}
		}
	}
}

// TestLoop_AnEmptyResultIsAResult: a tool that returns nothing has returned something.
func TestLoop_AnEmptyResultIsAResult(t *testing.T) {
	bubbled(t, testEmptyResults[ordinary], testEmptyResults[agentic])
}

func testEmptyResults[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		for name, empty := range map[string]tool.BaseTool{
			"text": &toolFunc{"t", func(context.Context, string) (string, error) { return "", nil }},
			"stream": &streamToolFunc{"t", func(context.Context, string) (*schema.StreamReader[string], error) {
				return schema.StreamReaderFromArray[string](nil), nil
			}},
			"parts": &enhancedToolFunc{"t", func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
				return &schema.ToolResult{}, nil
			}},
			"stream of parts": &enhancedStreamToolFunc{"t",
				func(context.Context, *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
					return schema.StreamReaderFromArray[*schema.ToolResult](nil), nil
				}},
		} {
			m := says(d.answer("", wanted{"t", "1", object}), d.answer("done"))
			a := setup(t, m, []tool.BaseTool{empty},
				func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
			all := read(t, bare(t.Context(), a, streaming))
			require.NoError(t, all[len(all)-1].Err, name)
			require.Len(t, all, 3, name)
			require.Equal(t, "tool t#1: ", m.transcript()[1][2], name)
		}
	}
}

// TestLoop_InterruptIsNoError: wrappers, retry and failover do not take an interrupt for a failure.
func TestLoop_InterruptIsNoError(t *testing.T) {
	bubbled(t, testInterruptNoError[ordinary], testInterruptNoError[agentic])
}

func testInterruptNoError[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var ran, should diary
	wraps := &hooked[M]{
		around: func(ctx context.Context, _ *ToolContext, args string) (context.Context, string, error) {
			return ctx, args, nil
		},
		wrapModel: func(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error) {
			return aroundModel[M](func() {}, func() {})(ctx, m, mc)
		},
	}
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{asksFirst("t", &ran)}, with[M](wraps), retrying[M](3, nil), standIns[M](3, &should))
	all := read(t, bare(t.Context(), a, streaming))
	require.Equal(t, []string{answered, ended}, linesOf(read(t, continueFrom(t.Context(), t, a, all, streaming))))
	require.Empty(t, should.all())
	require.Equal(t, 2, m.calls())
}

// TestOutputKey_StoresTheFinalText: what the session has at the end of a run.
// Rules agent/O-1, agent/O-2.
func TestOutputKey_StoresTheFinalText(t *testing.T) {
	bubbled(t, testOutputKey[ordinary], testOutputKey[agentic])
}

func testOutputKey[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	key := func(c *TypedChatModelAgentConfig[M]) { c.OutputKey = "out" }
	checked := &hooked[M]{afterModel: func(
		ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error) {
		if d.line(s.Messages[len(s.Messages)-1]) == ended {
			s.Messages = append(s.Messages, d.answer("checked"))
		}
		return ctx, s, nil
	}}
	for name, c := range map[string]struct {
		change func(*TypedChatModelAgentConfig[M])
		want   any
	}{
		"the last answer, after all hooks": {with[M](checked), "checked"},
		"nothing of a run that failed":     {with[M](failingHooks[M](func() error { return errBroken })["AfterAgent"]), nil},
	} {
		var session map[string]any
		outer := &custom[M]{name: "outer",
			run: func(ctx context.Context, input *TypedAgentInput[M],
				opts []AgentRunOption,
			) *AsyncIterator[*TypedAgentEvent[M]] {
				a := setup(t, says(d.answer("", wanted{"t", "c1", object}), d.answer("done")), []tool.BaseTool{echo("t")}, key,
					c.change)
				it, gen := NewAsyncIteratorPair[*TypedAgentEvent[M]]()
				read(t, a.Run(ctx, input, opts...))
				session = GetSessionValues(ctx)
				gen.Close()
				return it
			}}
		read(t, ask(t.Context(), TypedAgent[M](outer), streaming))
		require.Equal(t, c.want, session["out"], name)
	}
}

// TestLoop_AnAnswerOfThoughtsOnlyEndsTheRun: a turn that has neither text nor calls ends the run, and does not begin
// another one. Only a gate can ask again, and its turns are limited.
func TestLoop_AnAnswerOfThoughtsOnlyEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, streaming := range []bool{false, true} {
			thinks := &schema.Message{Role: schema.Assistant, ReasoningContent: "hm"}
			m := says(thinks)
			all := read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{echo("t")}), streaming))
			require.Len(t, all, 1)
			require.Equal(t, "hm", all[0].message.ReasoningContent)
			require.Equal(t, 1, m.calls())

			insists := &hooked[Message]{finalAnswer: func(
				ctx context.Context, s *ChatModelAgentState,
			) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
				return ctx, RejectFinalAnswer, s, nil
			}}
			m = says(thinks)
			all = read(t, bare(t.Context(), setup(t, m, nil, with[Message](insists)), streaming))
			require.ErrorIs(t, endError(t, all), ErrExceedMaxIterations)
			require.Equal(t, 20, m.calls(), "the default")
		}
	})
}
