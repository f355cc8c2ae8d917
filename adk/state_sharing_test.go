package adk

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// TestState_WhatHooksKeepStays: a hook may append to the history it is given and keep the result.
// Neither the state, which grows later, nor another hook writes into that, and it does not become part of the history.
// Rules agent/B19.14, agent/B19.31.
func TestState_WhatHooksKeepStays(t *testing.T) {
	bubbled(t, testKeptHistory[ordinary], testKeptHistory[agentic])
}

func testKeptHistory[M MessageType](t *testing.T, streaming bool) {
	for rounds := range 3 { // in some of them the state has room left behind its history when the run ends
		keepHistories[M](t, streaming, rounds)
	}
}

func keepHistories[M MessageType](t *testing.T, streaming bool, rounds int) {
	d := dialectOf[M]()
	type kept struct {
		who   string
		lines []string
		slice []M
	}
	var all []kept
	keep := func(who string, s *TypedChatModelAgentState[M]) {
		slice := append(s.Messages, opsOf[M]().user("kept by "+who))
		all = append(all, kept{who, d.lines(slice), slice})
	}
	keeping := func(name string, rejects int) *hooked[M] {
		return &hooked[M]{
			beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
				_ *TypedModelContext[M],
			) (context.Context, *TypedChatModelAgentState[M], error) {
				keep(name+" before the model", s)
				return ctx, s, nil
			},
			afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
				_ *TypedModelContext[M],
			) (context.Context, *TypedChatModelAgentState[M], error) {
				keep(name+" after the model", s)
				return ctx, s, nil
			},
			afterToolCalls: func(ctx context.Context, s *TypedChatModelAgentState[M],
				_ *ToolCallsContext,
			) (context.Context, *TypedChatModelAgentState[M], error) {
				keep(name+" after the tools", s)
				return ctx, s, nil
			},
			finalAnswer: func(ctx context.Context,
				s *TypedChatModelAgentState[M],
			) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
				keep(name+" gate", s)
				if rejects--; rejects >= 0 {
					return ctx, RejectFinalAnswer, s, nil
				}
				return ctx, AcceptFinalAnswer, s, nil
			},
			afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
				keep(name+" after the agent", s)
				return ctx, nil
			},
		}
	}
	history := []string{"user: hi"}
	var seen [][]string // by the model
	var answers []M
	for range rounds {
		answers = append(answers, d.answer("", wanted{"t", "c1", object}))
		seen = append(seen, slices.Clone(history))
		history = append(history, asked, answered)
	}
	seen = append(seen, slices.Clone(history), append(slices.Clone(history), "assistant: poor"))
	history = append(history, "assistant: poor", "assistant: good")
	m := says(append(answers, d.answer("poor"), d.answer("good"))...)
	a := setup(t, m, []tool.BaseTool{echo("t")}, with[M](keeping("first", 0), keeping("second", 1)))
	require.Len(t, read(t, bare(t.Context(), a, streaming)), 2*rounds+2)
	require.Len(t, all, 2*(3*rounds+2*2+2+1))
	for _, k := range all {
		require.Equal(t, k.lines, d.lines(k.slice), k.who)
	}
	require.Equal(t, append(slices.Clip(history), "user: kept by second after the agent"), all[len(all)-1].lines)
	require.Equal(t, seen, m.transcript())
}

// lockProbe takes the events of a run, and looks for each whether the state can be used meanwhile.
type lockProbe[M MessageType] struct {
	t      *testing.T
	inside atomic.Pointer[context.Context] // one that leads to the state
	events []*TypedAgentEvent[M]
}

func (p *lockProbe[M]) send(e *TypedAgentEvent[M]) {
	inside := p.inside.Load()
	require.NotNil(p.t, inside, "the first hook comes before all events")
	free := make(chan error, 1)
	go func() {
		free <- compose.ProcessState(*inside, func(context.Context, *agentState[M]) error { return nil })
	}()
	select {
	case err := <-free:
		require.NoError(p.t, err)
	case <-time.After(5 * time.Second):
		p.t.Error("an event is sent while the state is locked")
	}
	p.events = append(p.events, e)
}

// TestEvents_AreSentWithoutTheStateLocked: a reader that takes long over an event blocks no hook or tool that wants the
// state.
// Rule agent/B19.17.
func TestEvents_AreSentWithoutTheStateLocked(t *testing.T) {
	matrix(t, testFreeState[ordinary], testFreeState[agentic])
}

func testFreeState[M MessageType](t *testing.T, streaming bool) {
	const asked = "assistant: [whole#1 ] [stream#2 ] [own#3 ]"
	requireFreeState[M](t, streaming, "", asked, "tool whole#1: <>", "tool stream#2: s", "no message", "tool own#3: own",
		ended)
	requireFreeState[M](t, streaming, "whole", asked, "tool stream#2: s", "no message", "tool own#3: own",
		"tool whole#1: <>")
}

// requireFreeState runs an agent in which the result of the tool direct, if that is not "", ends the run.
func requireFreeState[M MessageType](t *testing.T, streaming bool, direct string, want ...string) {
	d := dialectOf[M]()
	calls := d.answer("", wanted{"whole", "1", ""}, wanted{"stream", "2", ""}, wanted{"own", "3", ""})
	tools := []tool.BaseTool{
		echo("whole"),
		&streamToolFunc{"stream", func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{"s"}), nil
		}},
		&toolFunc{"own", func(ctx context.Context, _ string) (string, error) {
			return "own", TypedSendEvent(ctx, &TypedAgentEvent[M]{})
		}},
	}
	p := &lockProbe[M]{t: t}
	look := &hooked[M]{beforeModel: func(
		ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error) {
		p.inside.Store(&ctx)
		return ctx, s, nil
	}}
	a := setup(t, says(calls, d.answer("done")), tools, with[M](look), retrying[M](1, nil),
		func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.ExecuteSequentially = true
			c.ToolsConfig.ReturnDirectly = map[string]bool{direct: true}
		})
	input := &TypedAgentInput[M]{Messages: []M{opsOf[M]().user("hi")}, EnableStreaming: streaming}
	a.begin(t.Context(), assignment[M]{input: input, out: p}).execute()
	var all []observed[M]
	for _, e := range p.events {
		all = append(all, readOne(t, e))
	}
	require.Equal(t, want, linesOf(all))
}

// TestAfterAgent_TheHistoryIsItsOwn: what the last hook writes into the history reaches no reader.
// Rule agent/B19.31.
func TestAfterAgent_TheHistoryIsItsOwn(t *testing.T) {
	bubbled(t, testOwnHistory[ordinary], testOwnHistory[agentic])
}

func testOwnHistory[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var judged []M
	h := &hooked[M]{
		finalAnswer: func(ctx context.Context,
			s *TypedChatModelAgentState[M],
		) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
			judged = s.Messages
			return ctx, AcceptFinalAnswer, s, nil
		},
		afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
			s.Messages[0] = opsOf[M]().user("another")
			return ctx, nil
		},
	}
	m := says(d.answer("yes"))
	read(t, bare(t.Context(), setup(t, m, nil, with[M](h)), streaming))
	require.Equal(t, [][]string{{"user: hi"}}, m.transcript())
	require.Equal(t, []string{"user: hi", "assistant: yes"}, d.lines(judged))
}

// joinCounter counts how often chunks that carry it are joined.
type joinCounter struct{ n *atomic.Int32 }

func init() {
	compose.RegisterStreamChunkConcatFunc(func(all []joinCounter) (joinCounter, error) {
		all[0].n.Add(1)
		return all[0], nil
	})
}

// TestModel_AnAnswerIsJoinedOnce: the chunks of an answer are concatenated once, however many layers need the message.
// Rule agent/B19.5.
func TestModel_AnAnswerIsJoinedOnce(t *testing.T) {
	for name, both := range map[string][2]func(*testing.T){
		"alone":    {testJoinedOnce[ordinary](), testJoinedOnce[agentic]()},
		"retry":    {testJoinedOnce(retryAll[ordinary]()), testJoinedOnce(retryAll[agentic]())},
		"failover": {testJoinedOnce(failsOver[ordinary]()), testJoinedOnce(failsOver[agentic]())},
		"hooks":    {testJoinedOnce(lookAtAll[ordinary]()), testJoinedOnce(lookAtAll[agentic]())},
		"all": {testJoinedOnce(retryAll[ordinary](), failsOver[ordinary](), lookAtAll[ordinary]()),
			testJoinedOnce(retryAll[agentic](), failsOver[agentic](), lookAtAll[agentic]())},
	} {
		t.Run(name+"/ordinary", both[0])
		t.Run(name+"/agentic", both[1])
	}
}

func retryAll[M MessageType]() func(*TypedChatModelAgentConfig[M]) {
	return retrying(1, func(*TypedRetryContext[M]) *TypedRetryDecision[M] { return nil })
}

func failsOver[M MessageType]() func(*TypedChatModelAgentConfig[M]) {
	return standIns[M](1, &diary{})
}

func lookAtAll[M MessageType]() func(*TypedChatModelAgentConfig[M]) {
	return with[M](everyHook[M]("h", &diary{}))
}

func testJoinedOnce[M MessageType](change ...func(*TypedChatModelAgentConfig[M])) func(t *testing.T) {
	return func(t *testing.T) {
		d := dialectOf[M]()
		var joins atomic.Int32
		m := &scripted[M]{answers: [][]M{nil}}
		for _, text := range []string{"a", "b", "c"} {
			m.answers[0] = append(m.answers[0],
				opsOf[M]().withExtra(d.chunk(text), map[string]any{"joins": joinCounter{&joins}}))
		}
		a := setup(t, m, []tool.BaseTool{echo("t")},
			append(change, func(c *TypedChatModelAgentConfig[M]) { c.OutputKey = "out" })...)
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: true, CheckPointStore: memory{}})
		option, _ := WithCancel()
		chunks := 0
		for e := range r.Query(t.Context(), "hi", WithCheckPointID("1"), option).All() {
			require.NoError(t, e.Err)
			for _, err := range e.Output.MessageOutput.MessageStream.All() {
				require.NoError(t, err)
				chunks++
			}
		}
		require.Equal(t, 3, chunks)
		require.EqualValues(t, 1, joins.Load())
	}
}

// TestState_WhatACallbackHandlerAppendsStays: the input that the handlers of the graph see has no room of the history's
// behind it.
func TestState_WhatACallbackHandlerAppendsStays(t *testing.T) {
	bubbled(t, testAppendingHandler[ordinary], testAppendingHandler[agentic])
}

func testAppendingHandler[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var kept []M
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput,
	) context.Context {
		if messages, ok := in.([]M); ok && kept == nil {
			kept = append(messages, opsOf[M]().user("kept"))
		}
		return ctx
	}).Build()
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{echo("t")}), EnableStreaming: streaming})
	read(t, r.Query(t.Context(), "hi", WithCallbacks(h)))
	require.Equal(t, []string{"user: hi", "user: kept"}, d.lines(kept))
	require.Equal(t, [][]string{{"user: hi"}, {"user: hi", asked, answered}}, m.transcript())
}
