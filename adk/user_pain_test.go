package adk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	toolutils "github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// What users of other frameworks have run into, and what an agent does there. The tests carry the rows of that list.

// forgiving gives the model the errors of tools to read.
func forgiving(tools ...tool.BaseTool) (out []tool.BaseTool) {
	for _, t := range tools {
		out = append(out, toolutils.WrapToolWithErrorHandler(t, func(_ context.Context, err error) string { return "failed: " + err.Error() }))
	}
	return out
}

// TestToolErrors_EndTheRunOrReachTheModel: by default a failed tool ends the run; with an error handler the error is a
// result for the model, and the run continues, for each form of tool.
func TestToolErrors_EndTheRunOrReachTheModel(t *testing.T) {
	bubbled(t, testErrorsForTheModel[ordinary], testErrorsForTheModel[agentic])
}

func testErrorsForTheModel[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		for kind, f := range forms(func(context.Context) error { return errors.New("file not found") }) {
			m := says(d.answer("", wanted{"bad", "c1", object}), d.answer("done"))
			a := setup(t, m, forgiving(f.tool), func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
			all := read(t, bare(t.Context(), a, streaming))
			require.NoError(t, all[len(all)-1].Err, kind)
			require.Len(t, all, 3, kind)
			require.Contains(t, m.transcript()[1][2], "failed: file not found", kind)
		}
	}
}

// TestToolErrors_MalformedArguments: with an error handler the model gets to know which arguments a tool could not
// read, and why; an arguments handler may repair them before.
func TestToolErrors_MalformedArguments(t *testing.T) {
	bubbled(t, testMalformed[ordinary], testMalformed[agentic])
}

func testMalformed[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	type arguments struct {
		City string `json:"city"`
	}
	weather, err := toolutils.InferTool("weather", "tells the weather", func(_ context.Context, in arguments) (string, error) { return "sunny in " + in.City, nil })
	require.NoError(t, err)
	for _, c := range []struct {
		given  string
		repair bool
		want   string
	}{
		{`{"city":"Bonn"}`, false, "sunny in Bonn"},
		{`{"city":7}`, false, "failed: "},
		{`{"city":"Bonn"`, false, "failed: "},
		{`"{\"city\":\"Bonn\"}"`, false, "failed: "},
		{`{"city":"Bonn"`, true, "sunny in Bonn"},
	} {
		m := says(d.answer("", wanted{"weather", "c1", c.given}), d.answer("done"))
		a := setup(t, m, forgiving(weather), func(conf *TypedChatModelAgentConfig[M]) {
			if c.repair {
				conf.ToolsConfig.ToolArgumentsHandler = func(_ context.Context, _, arguments string) (string, error) { return arguments + "}", nil }
			}
		})
		all := read(t, bare(t.Context(), a, streaming))
		require.Equal(t, ended, linesOf(all)[len(all)-1], c.given)
		require.Contains(t, m.transcript()[1][2], c.want, c.given)
	}
}

// TestToolErrors_DeadlineForEveryTool: a deadline for every tool is a middleware; with an error handler inside it the
// expiry becomes a result, and the run continues.
func TestToolErrors_DeadlineForEveryTool(t *testing.T) {
	bubbled(t, testDeadlines[ordinary], testDeadlines[agentic])
}

func testDeadlines[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	hangs := &toolFunc{"t", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}
	deadline := &hooked[M]{around: func(ctx context.Context, _ *ToolContext, args string) (context.Context, string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx, args, nil
	}}
	m := says(d.answer("", wanted{"t", "c1", object}, wanted{"t", "c2", object}), d.answer("done"))
	start := time.Now()
	all := read(t, bare(t.Context(), setup(t, m, forgiving(hangs), with[M](deadline)), streaming))
	require.Equal(t, ended, linesOf(all)[len(all)-1])
	require.Equal(t, "tool t#c1: failed: context deadline exceeded", m.transcript()[1][2])
	require.Equal(t, time.Second, time.Since(start))
}

// TestHooks_AfterAgentHasAnswerTranscriptAndUsage: one hook has the answer, the transcript and what it cost.
func TestHooks_AfterAgentHasAnswerTranscriptAndUsage(t *testing.T) {
	used := func(m Message, n int) Message {
		m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{TotalTokens: n}}
		return m
	}
	var lines []string
	tokens := 0
	h := &hooked[Message]{afterAgent: func(ctx context.Context, s *ChatModelAgentState) (context.Context, error) {
		lines = chatDialect.lines(s.Messages)
		for _, m := range s.Messages {
			if m.ResponseMeta != nil {
				tokens += m.ResponseMeta.Usage.TotalTokens
			}
		}
		return ctx, nil
	}}
	for _, streaming := range []bool{false, true} {
		tokens = 0
		m := says(used(chatAnswer("", wanted{"t", "c1", object}), 10), used(chatAnswer("done"), 20))
		read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{echo("t")}, with[Message](h)), streaming))
		require.Equal(t, []string{"user: hi", asked, answered, ended}, lines)
		require.Equal(t, 30, tokens)
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

			insists := &hooked[Message]{finalAnswer: func(ctx context.Context, s *ChatModelAgentState) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
				return ctx, RejectFinalAnswer, s, nil
			}}
			m = says(thinks)
			all = read(t, bare(t.Context(), setup(t, m, nil, with[Message](insists)), streaming))
			require.ErrorIs(t, endError(t, all), ErrExceedMaxIterations)
			require.Equal(t, 20, m.calls(), "the default")
		}
	})
}

// TestRetry_MakesAsManyAttemptsAsConfigured: for 0, 1 and n retries.
func TestRetry_MakesAsManyAttemptsAsConfigured(t *testing.T) {
	bubbled(t, testAttempts[ordinary], testAttempts[agentic])
}

func testAttempts[M MessageType](t *testing.T, streaming bool) {
	for _, n := range []int{0, 1, 4} {
		m := &fickle[M]{tries: []try[M]{breaks[M](errShaky, "a")}}
		require.ErrorIs(t, endError(t, read(t, bare(t.Context(), setup[M](t, m, nil, retrying[M](n, nil)), streaming))), errShaky)
		require.Equal(t, n+1, m.calls(), "retry")

		m, second := &fickle[M]{tries: m.tries}, &fickle[M]{tries: m.tries}
		others := make([]model.BaseModel[M], n)
		for i := range others {
			others[i] = second
		}
		read(t, bare(t.Context(), setup[M](t, m, nil, standIns(uint(n), &diary{}, others...)), streaming))
		require.Equal(t, []int{1, n}, []int{m.calls(), second.calls()}, "failover")
	}
}

// TestRetry_ADiscardedAnswerIsMarkedInItsStream: an answer that a provider has finished for a bad reason is tried
// again, and the stream of the discarded one ends with an error that says so. In the end exactly the accepted answer
// is shown.
func TestRetry_ADiscardedAnswerIsMarkedInItsStream(t *testing.T) {
	const malformed = "MALFORMED_FUNCTION_CALL"
	bad := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{FinishReason: malformed}}
	for name, first := range map[string]try[Message]{
		"bad finish": {chunks: []Message{chatAnswer("I "), chatAnswer("mean"), bad}},
		"broken":     breaks[Message](errShaky, "I ", "mea"),
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &fickle[Message]{tries: []try[Message]{first, says1[Message]("the ", "answer")}}
			a := setup[Message](t, m, nil, retrying(1, func(rc *RetryContext) *RetryDecision {
				finish := ""
				if meta := rc.OutputMessage.ResponseMeta; meta != nil {
					finish = meta.FinishReason
				}
				return &RetryDecision{Retry: rc.Err != nil || finish == malformed, RejectReason: finish}
			}))
			screen, taken := "", 0
			for e := range bare(t.Context(), a, true).All() {
				require.NoError(t, e.Err, name)
				shown := screen
				for chunk, err := range e.Output.MessageOutput.MessageStream.All() {
					var again *WillRetryError
					if errors.As(err, &again) {
						screen, taken = shown, taken+1
						if name == "bad finish" {
							require.Equal(t, malformed, again.RejectReason())
						}
						break
					}
					require.NoError(t, err)
					screen += chunk.Content
				}
			}
			require.Equal(t, "the answer", screen, name)
			require.Equal(t, 1, taken, name)
		})
	}
}

// TestResume_StreamsThatBrokeOff: a stream that broke off at any chunk, and that a reader has seen so far, is saved
// with an interrupted run: the agents after it get the same history as if the run had not stopped.
func TestResume_StreamsThatBrokeOff(t *testing.T) {
	texts := []string{"a", "b", "c"}
	for cut := range len(texts) + 1 {
		var inputs [2][]Message
		for i, interrupts := range []bool{false, true} {
			cuts := &fickle[Message]{tries: []try[Message]{breaks[Message](errShaky, texts[:cut]...), says1[Message]("whole")}}
			first := setup[Message](t, cuts, nil, retrying[Message](1, nil))
			asking := tool.BaseTool(echo("t"))
			if interrupts {
				asking = asksFirst("t", &diary{})
			}
			second := newOrdinary(t, "second", recall(callOf("t", "c1", object), chatAnswer("second done")), asking)
			m := recall(chatAnswer("third done"))
			seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{first, second, newOrdinary(t, "third", m)}})
			require.NoError(t, err)
			r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: true, CheckPointStore: memory{}})
			all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			require.ErrorContains(t, all[0].broken, errShaky.Error())
			require.Len(t, all[0].chunks, cut, "what came before is the reader's")
			if interrupts {
				it, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				all = read(t, it)
			}
			require.Equal(t, "assistant: third done", linesOf(all)[len(all)-1])
			inputs[i] = m.seen[0]
		}
		require.Equal(t, chatDialect.lines(inputs[0]), chatDialect.lines(inputs[1]), "cut after %d chunks", cut)
		require.Contains(t, fmt.Sprint(chatDialect.lines(inputs[0])), "whole")
	}
}

// TestToolErrors_AMiddlewareThatMakesNoEndpoint: a middleware of the tools that makes no endpoint is an error of the
// calls.
func TestToolErrors_AMiddlewareThatMakesNoEndpoint(t *testing.T) {
	bubbled(t, testNoEndpoint[ordinary], testNoEndpoint[agentic])
}

func testNoEndpoint[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	a := setup(t, says(d.answer("", wanted{"t", "c1", object})), []tool.BaseTool{echo("t")}, func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{{Invokable: func(compose.InvokableToolEndpoint) compose.InvokableToolEndpoint { return nil }}}
	})
	require.ErrorContains(t, endError(t, read(t, bare(t.Context(), a, streaming))), "tool[name:t id:c1]")
}
