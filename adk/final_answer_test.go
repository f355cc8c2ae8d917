package adk

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// gate is a middleware that judges answers, by how often it was asked.
func gate[M MessageType](
	judge func(n int, s *TypedChatModelAgentState[M]) (FinalAnswerDecision, *TypedChatModelAgentState[M], error),
) *hooked[M] {
	n := 0
	return &hooked[M]{finalAnswer: func(
		ctx context.Context, s *TypedChatModelAgentState[M],
	) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		n++
		d, next, err := judge(n, s)
		return ctx, d, next, err
	}}
}

// gated remembers what its gates saw.
type gated[M MessageType] struct {
	histories [][]string
	model     *scripted[M]
}

// rejecting rejects n times.
func (g *gated[M]) rejecting(n int) *hooked[M] {
	d := dialectOf[M]()
	return gate(func(
		asked int, s *TypedChatModelAgentState[M],
	) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		g.histories = append(g.histories, d.lines(s.Messages))
		if asked > n {
			return AcceptFinalAnswer, s, nil
		}
		s.Messages = append(s.Messages, opsOf[M]().user(fmt.Sprint("no ", asked)))
		return RejectFinalAnswer, s, nil
	})
}

// Rules agent/FA-1, agent/FA-2, agent/FA-3, agent/FA-5, agent/FA-7, agent/FA-8, agent/FA-9.
func TestGate_JudgesEachFinalAnswer(t *testing.T) { bubbled(t, testGate[ordinary], testGate[agentic]) }

func testGate[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	call := d.answer("", wanted{"t", "c1", object})
	for name, c := range map[string]struct {
		answers    []M
		tools      []tool.BaseTool
		direct     map[string]bool
		iterations int
		rejects    int
		events     []string
		gates      [][]string
		exceeded   bool
	}{
		"no tools": {answers: []M{d.answer("a"), d.answer("b")}, rejects: 1, events: []string{"assistant: a", "assistant: b"},
			gates: [][]string{{"user: hi", "assistant: a"}, {"user: hi", "assistant: a", "user: no 1", "assistant: b"}}},
		"once for a tool turn and an answer": {answers: []M{call, d.answer("done")}, tools: []tool.BaseTool{echo("t")},
			events: []string{asked, answered, ended}, gates: [][]string{{"user: hi", asked, answered, ended}}},
		"tools after a rejection": {answers: []M{d.answer("a"), call, d.answer("done")}, tools: []tool.BaseTool{echo("t")},
			rejects: 1,
			events:  []string{"assistant: a", asked, answered, ended},
			gates: [][]string{{"user: hi", "assistant: a"},
				{"user: hi", "assistant: a", "user: no 1", asked, answered, ended}}},
		"return directly": {answers: []M{call, d.answer("done")}, tools: []tool.BaseTool{echo("t")},
			direct: map[string]bool{"t": true}, rejects: 1,
			events: []string{asked, answered, ended},
			gates:  [][]string{{"user: hi", asked, answered}, {"user: hi", asked, answered, "user: no 1", ended}}},
		"then an ordinary tool turn": {
			answers: []M{d.answer("", wanted{"u", "1", ""}, wanted{"t", "c1", object}), d.answer("", wanted{"u", "c1", "x"}),
				d.answer("done")},
			tools: []tool.BaseTool{echo("t"), echo("u")}, direct: map[string]bool{"t": true}, rejects: 1,
			events: []string{`assistant: [u#1 ] [t#c1 {"q":1}]`, "tool u#1: <>", answered, "assistant: [u#c1 x]",
				"tool u#c1: <x>", ended},
			gates: [][]string{{"user: hi", `assistant: [u#1 ] [t#c1 {"q":1}]`, "tool u#1: <>", answered},
				{"user: hi", `assistant: [u#1 ] [t#c1 {"q":1}]`, "tool u#1: <>", answered, "user: no 1", "assistant: [u#c1 x]",
					"tool u#c1: <x>", ended}},
		},
		"return directly twice": {answers: []M{call}, tools: []tool.BaseTool{echo("t")}, direct: map[string]bool{"t": true},
			rejects: 1,
			events:  []string{asked, answered, asked, answered},
			gates:   [][]string{{"user: hi", asked, answered}, {"user: hi", asked, answered, "user: no 1", asked, answered}}},
		"costs iterations": {answers: []M{d.answer("a")}, rejects: 99, iterations: 3, exceeded: true,
			events: []string{"assistant: a", "assistant: a", "assistant: a", "error"}},
	} {
		g := &gated[M]{model: says(c.answers...)}
		var ended diary
		a := setup(t, g.model, c.tools, with[M](g.rejecting(c.rejects), everyHook[M]("later", &ended)),
			func(conf *TypedChatModelAgentConfig[M]) {
				conf.MaxIterations = c.iterations
				conf.ToolsConfig.ReturnDirectly = c.direct
			})
		all := read(t, bare(t.Context(), a, streaming))
		require.Equal(t, c.events, linesOf(all), name)
		if c.exceeded {
			require.ErrorIs(t, endError(t, all), ErrExceedMaxIterations, name)
			require.Len(t, g.histories, c.iterations, name)
			continue
		}
		require.Equal(t, c.gates, g.histories, name)
		// A rejection is final for the handlers behind (rule agent/FA-3); the gates come before AfterAgent, which runs once
		// (rule agent/FA-1).
		var order []string
		for _, line := range ended.all() {
			if line[:8] == "later FA" || line[:8] == "later AA" {
				order = append(order, line[6:8])
			}
		}
		require.Equal(t, []string{"FA", "AA"}, order, name)
	}
}

// TestGate_StateIsKeptInBothCases: nil keeps the one there was, and the run's answer is the model's.
// Rules agent/FA-2, agent/FA-4.
func TestGate_StateIsKeptInBothCases(t *testing.T) {
	bubbled(t, testGateState[ordinary], testGateState[agentic])
}

func testGateState[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var final []string
	look := &hooked[M]{afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
		final = append(d.lines(s.Messages), fmt.Sprint(len(s.ToolInfos)))
		return ctx, nil
	}}
	accepting := gate(func(
		_ int, s *TypedChatModelAgentState[M],
	) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		return AcceptFinalAnswer, &TypedChatModelAgentState[M]{Messages: []M{d.answer("other")},
			ToolInfos: []*schema.ToolInfo{{Name: "x"}}}, nil
	})
	odd := gate(func(_ int, s *TypedChatModelAgentState[M]) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		require.Equal(t, []string{"assistant: other"}, d.lines(s.Messages))
		return FinalAnswerDecision(7), nil, nil // rule agent/FA-9
	})
	var value any
	key := func(c *TypedChatModelAgentConfig[M]) { c.OutputKey = "out" }
	read1 := &hooked[M]{afterAgent: func(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
		value, _ = GetSessionValue(ctx, "out")
		return ctx, nil
	}}
	a := setup(t, says(d.answer("mine")), nil, with[M](accepting, odd, look, read1), key)
	require.Equal(t, []string{"assistant: mine"}, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))))
	require.Equal(t, []string{"assistant: other", "1"}, final)
	require.Nil(t, value, "the output is stored when the run has succeeded")

	var hidden []string
	rejecting := gate(func(
		n int, s *TypedChatModelAgentState[M],
	) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		s.ToolInfos = nil
		return map[bool]FinalAnswerDecision{true: RejectFinalAnswer}[n == 1], nil, nil
	})
	m := says(d.answer("a"), d.answer("b"))
	a = setup(t, m, []tool.BaseTool{echo("t")}, with[M](rejecting))
	require.Len(t, read(t, bare(t.Context(), a, streaming)), 2)
	for _, opts := range m.options {
		hidden = append(hidden, fmt.Sprint(toolNames(opts)))
	}
	require.Equal(t, []string{"[t]", "[]"}, hidden, "rule agent/FA-2: nil keeps the state, with what was changed in it")
	require.Equal(t, []string{"user: hi", "assistant: a"}, m.transcript()[1])
}

// TestGate_ErrorsValuesEvents: an error wins; run-local values and events work.
// Rules agent/FA-6, agent/FA-10.
func TestGate_ErrorsValuesEvents(t *testing.T) {
	bubbled(t, testGateErrors[ordinary], testGateErrors[agentic])
}

func testGateErrors[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("a"))
	h := gate(func(_ int, s *TypedChatModelAgentState[M]) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		return RejectFinalAnswer, s, errBroken
	})
	all := read(t, bare(t.Context(), setup(t, m, nil, with[M](h)), streaming))
	require.ErrorIs(t, endError(t, all), errBroken)
	require.Equal(t, 1, m.calls())

	counting := &hooked[M]{finalAnswer: func(
		ctx context.Context, s *TypedChatModelAgentState[M],
	) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		v, _, err := GetRunLocalValue(ctx, "n")
		require.NoError(t, err)
		n, _ := v.(int)
		require.NoError(t, SetRunLocalValue(ctx, "n", n+1))
		require.NoError(t, TypedSendEvent(ctx, &TypedAgentEvent[M]{}))
		if n < 2 {
			return ctx, RejectFinalAnswer, s, nil
		}
		return ctx, AcceptFinalAnswer, s, nil
	}}
	a := setup(t, says(d.answer("a")), nil, with[M](counting))
	for range 2 { // values are of one run
		require.Equal(t, []string{"assistant: a", "no message", "assistant: a", "no message", "assistant: a", "no message"},
			linesOf(read(t, bare(t.Context(), a, streaming))))
	}
}

// TestGate_IsUnrelatedToRetry: retry judges a call, the gate an answer.
// Rule agent/FA-11.
func TestGate_IsUnrelatedToRetry(t *testing.T) {
	bubbled(t, testGateRetry[ordinary], testGateRetry[agentic])
}

func testGateRetry[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("bad"), d.answer("poor"), d.answer("bad"), d.answer("good"))
	g := &gated[M]{}
	a := setup(t, m, nil, with[M](g.rejecting(1)), func(c *TypedChatModelAgentConfig[M]) { c.MaxIterations = 2 },
		retrying(1, func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
			return &TypedRetryDecision[M]{Retry: d.line(rc.OutputMessage) == "assistant: bad"}
		}))
	all := read(t, bare(t.Context(), a, streaming))
	want := []string{"assistant: poor", "assistant: good"}
	if streaming {
		want = []string{"broken stream", "assistant: poor", "broken stream", "assistant: good"}
	}
	require.Equal(t, want, linesOf(all))
	require.Equal(t, [][]string{{"user: hi", "assistant: poor"},
		{"user: hi", "assistant: poor", "user: no 1", "assistant: good"}}, g.histories)
}

// TestGate_ResumeKeepsTheCount: a run that was rejected, interrupted and resumed has the iterations left that it had.
func TestGate_ResumeKeepsTheCount(t *testing.T) {
	bubbled(t, testGateResume[ordinary], testGateResume[agentic])
}

func testGateResume[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var ran diary
	m := says(d.answer("a"), d.answer("", wanted{"t", "c1", object}), d.answer("b"))
	g := &gated[M]{}
	h := gate(func(n int, s *TypedChatModelAgentState[M]) (FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
		g.histories = append(g.histories, d.lines(s.Messages))
		return map[bool]FinalAnswerDecision{true: RejectFinalAnswer}[len(g.histories) != 2], s, nil
	})
	a := setup(t, m, []tool.BaseTool{asksFirst("t", &ran)}, with[M](h),
		func(c *TypedChatModelAgentConfig[M]) { c.MaxIterations = 3 })
	all := read(t, bare(t.Context(), a, streaming))
	require.Len(t, all, 3)
	rest := read(t, continueFrom(t.Context(), t, a, all, streaming))
	require.Equal(t, []string{answered, "assistant: b"}, linesOf(rest))
	// the third answer was the last one allowed
	g.histories, m.histories = g.histories[:0], nil
	all = read(t, bare(t.Context(), a, streaming))
	g.histories = nil // so that b is rejected
	all = read(t, continueFrom(t.Context(), t, a, all, streaming))
	require.ErrorIs(t, endError(t, all), ErrExceedMaxIterations)
}
