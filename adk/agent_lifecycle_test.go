package adk

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// TestLifecycle_TheFirstRunFreezesTheAgentsAround: the agents around an agent are fixed by its first run, and set only
// once before.
// Rule agent/L-3.
func TestLifecycle_TheFirstRunFreezesTheAgentsAround(t *testing.T) {
	t.Run("ordinary", testFrozen[ordinary])
	t.Run("agentic", testFrozen[agentic])
}

func testFrozen[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	newAgent := func() *TypedChatModelAgent[M] { return setup(t, says(d.answer("done")), nil) }
	ctx := t.Context()
	a, other := newAgent(), TypedAgent[M](newAgent())
	require.NoError(t, a.OnSetSubAgents(ctx, []TypedAgent[M]{other}))
	require.EqualError(t, a.OnSetSubAgents(ctx, nil), "agent's sub-agents has already been set")
	require.NoError(t, a.OnSetAsSubAgent(ctx, other))
	require.EqualError(t, a.OnSetAsSubAgent(ctx, other), "agent has already been set as a sub-agent of another agent")
	require.NoError(t, a.OnDisallowTransferToParent(ctx))
	for name, run := range map[string]func(a *TypedChatModelAgent[M]) *AsyncIterator[*TypedAgentEvent[M]]{
		"run": func(a *TypedChatModelAgent[M]) *AsyncIterator[*TypedAgentEvent[M]] { return bare(ctx, a, false) },
		"resume": func(a *TypedChatModelAgent[M]) *AsyncIterator[*TypedAgentEvent[M]] {
			return a.Resume(ctx, &ResumeInfo{})
		},
	} {
		a := newAgent()
		read(t, run(a))
		const frozen = "agent has been frozen after run"
		require.EqualError(t, a.OnSetSubAgents(ctx, nil), frozen, name)
		require.EqualError(t, a.OnSetAsSubAgent(ctx, other), frozen, name)
		require.EqualError(t, a.OnDisallowTransferToParent(ctx), frozen, name)
	}
}

// TestLifecycle_ToolsOutOfNothing: an agent whose configuration has neither tools nor results that end the run gets
// both from BeforeAgent, in a run and in a resumed one.
// Rule agent/L-5.
func TestLifecycle_ToolsOutOfNothing(t *testing.T) {
	bubbled(t, testOutOfNothing[ordinary], testOutOfNothing[agentic])
}

func testOutOfNothing[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var ran diary
	h := &hooked[M]{beforeAgent: func(
		ctx context.Context, rc *ChatModelAgentContext,
	) (context.Context, *ChatModelAgentContext, error) {
		rc.Tools = append(rc.Tools, asksFirst("t", &ran))
		rc.ReturnDirectly["t"] = true
		return ctx, rc, nil
	}}
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	a := setup(t, m, nil, with[M](h))
	first := read(t, bare(t.Context(), a, streaming))
	require.Equal(t, []string{asked, "no message"}, linesOf(first))
	require.Equal(t, []string{"t"}, toolNames(m.options[0]))
	require.Equal(t, []string{answered}, linesOf(read(t, continueFrom(t.Context(), t, a, first, streaming))))
	require.Equal(t, []string{"t#c1 resumed=false", "t#c1 resumed=true"}, ran.all())
	require.Equal(t, 1, m.calls())
}

// TestLifecycle_WhatAResumedRunStartsFrom: a resumed run has its streaming mode from the info and its history from
// what was saved, and takes neither input nor instruction again.
// Rule agent/L-12.
func TestLifecycle_WhatAResumedRunStartsFrom(t *testing.T) {
	bubbled(t, testResumeTakes[ordinary], testResumeTakes[agentic])
}

func testResumeTakes[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	inputs, instruction := 0, "first"
	var failing error
	h := &hooked[M]{beforeAgent: func(
		ctx context.Context, rc *ChatModelAgentContext,
	) (context.Context, *ChatModelAgentContext, error) {
		rc.Instruction = instruction
		return ctx, rc, failing
	}}
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{asksFirst("t", &diary{})}, with[M](h), func(c *TypedChatModelAgentConfig[M]) {
		c.GenModelInput = func(ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error) {
			inputs++
			return defaultGenModelInput(ctx, instruction, input)
		}
	})
	first := read(t, bare(t.Context(), a, streaming))
	instruction = "second"
	rest := read(t, continueFrom(t.Context(), t, a, first, !streaming))
	require.Equal(t, []string{answered, ended}, linesOf(rest))
	require.Equal(t, !streaming, rest[1].Output.MessageOutput.IsStreaming)
	require.Equal(t, 1, inputs)
	require.Equal(t, []string{"system: first", "user: hi", asked, answered}, m.transcript()[1])

	failing = errBroken
	require.ErrorIs(t, endError(t, read(t, a.Resume(t.Context(), &ResumeInfo{InterruptState: 7}))), errBroken,
		"BeforeAgent comes before the checks")
}

// TestLifecycle_HistoryModifierRewritesOnce: a modifier rewrites the saved history once; the one of the resume data
// wins.
// Rule agent/L-12.
func TestLifecycle_HistoryModifierRewritesOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for name, c := range map[string]struct {
			data *ChatModelAgentResumeData
			opts []AgentRunOption
			want []string
		}{
			"none":   {nil, nil, nil},
			"data":   {&ChatModelAgentResumeData{HistoryModifier: signs("data")}, nil, []string{"data"}},
			"option": {nil, []AgentRunOption{WithHistoryModifier(signs("option"))}, []string{"option"}},
			"both": {&ChatModelAgentResumeData{HistoryModifier: signs("data")},
				[]AgentRunOption{WithHistoryModifier(signs("option"))}, []string{"data"}},
			"empty": {&ChatModelAgentResumeData{}, []AgentRunOption{WithHistoryModifier(signs("option"))}, []string{"option"}},
		} {
			m := says(chatAnswer("", wanted{"t", "c1", object}), chatAnswer("", wanted{"t", "c2", object}), chatAnswer("done"))
			a := setup(t, m, []tool.BaseTool{asksOnce()})
			first := read(t, bare(t.Context(), a, streaming))
			last := first[len(first)-1].Action.Interrupted
			info := &ResumeInfo{EnableStreaming: streaming, InterruptInfo: last, WasInterrupted: true, IsResumeTarget: true,
				InterruptState: last.Data.(*ChatModelAgentInterruptInfo).Data}
			if c.data != nil {
				info.ResumeData = c.data
			}
			rest := read(t, a.Resume(t.Context(), info, c.opts...))
			require.NoError(t, rest[len(rest)-1].Err, name)
			var signed []string
			for _, line := range m.transcript()[2] {
				if len(line) > 8 && line[:8] == "system: " {
					signed = append(signed, line[8:])
				}
			}
			require.Equal(t, c.want, signed, "%s: once, though the model is called twice", name)
		}
	}
}

// signs puts a line in front of a history.
func signs(who string) func(context.Context, []Message) []Message {
	return func(_ context.Context, history []Message) []Message {
		return append([]Message{opsOf[Message]().system(who)}, history...)
	}
}

// asksOnce is a tool that interrupts its first call only.
func asksOnce() tool.BaseTool {
	calls := 0
	return &toolFunc{"t", func(ctx context.Context, args string) (string, error) {
		if calls++; calls == 1 {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "<" + args + ">", nil
	}}
}

// TestOutputKey_JoinFails: an answer whose chunks do not join is the error of the run, and leaves no output.
// Rule agent/O-2.
func TestOutputKey_JoinFails(t *testing.T) {
	streamed(t, testJoinFails[ordinary], testJoinFails[agentic])
}

func testJoinFails[M MessageType](t *testing.T) {
	d, ops := dialectOf[M](), opsOf[M]()
	var session map[string]any
	outer := &custom[M]{name: "outer",
		run: func(ctx context.Context, input *TypedAgentInput[M], opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
			m := &scripted[M]{answers: [][]M{{d.chunk("a"), ops.user("b")}}} // of two roles
			a := setup[M](t, m, nil, func(c *TypedChatModelAgentConfig[M]) { c.OutputKey = "out" })
			last := error(nil)
			for e := range a.Run(ctx, input, opts...).All() {
				last = e.Err
			}
			require.Error(t, last)
			session = GetSessionValues(ctx)
			it, gen := NewAsyncIteratorPair[*TypedAgentEvent[M]]()
			gen.Close()
			return it
		}}
	read(t, ask(t.Context(), TypedAgent[M](outer), true))
	require.NotContains(t, session, "out")
}

// TestLifecycle_ConfigurationIsCopied: what the caller does with the slices and maps of a configuration later
// is nothing to the agent, and the agent writes into none of them.
// Rule agent/B19.13.
func TestLifecycle_ConfigurationIsCopied(t *testing.T) {
	matrix(t, testConfigCopied[ordinary], testConfigCopied[agentic])
}

func testConfigCopied[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var notes diary
	silent := compose.ToolMiddleware{}
	tools := append(make([]tool.BaseTool, 0, 8), echo("t"))
	wraps := append(make([]compose.ToolMiddleware, 0, 8), silent)
	handlers := append(make([]TypedChatModelAgentMiddleware[M], 0, 8), everyHook[M]("h", &notes))
	middlewares := append(make([]AgentMiddleware, 0, 8), AgentMiddleware{AdditionalInstruction: "be kind"})
	directly := map[string]bool{"other": true}
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	a := setup(t, m, nil, func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.Tools, c.ToolsConfig.ToolCallMiddlewares, c.ToolsConfig.ReturnDirectly = tools, wraps, directly
		c.Handlers, c.Middlewares, c.Exit = handlers, middlewares, ExitTool{}
	})
	tools[0], handlers[0], middlewares[0].AdditionalInstruction, directly["t"] = nil, nil, "be rude", true
	wraps[0].Invokable = func(compose.InvokableToolEndpoint) compose.InvokableToolEndpoint { panic("not this one") }
	require.Equal(t, []string{asked, answered, ended}, linesOf(read(t, bare(t.Context(), a, streaming))))
	require.Equal(t, "system: be kind", m.transcript()[0][0])
	require.Equal(t, []string{"t", "exit"}, toolNames(m.options[0]))
	require.NotEmpty(t, notes.all())
	require.Nil(t, tools[:2][1])
	require.Nil(t, handlers[:2][1])
	require.Equal(t, compose.ToolMiddleware{}.Invokable == nil, wraps[:2][1].Invokable == nil)
	require.Equal(t, map[string]bool{"other": true, "t": true}, directly)
}

// TestState_IsInTheInterruptPointAndItsEvent: the bytes that the graph has saved are the state of the agent's point
// and the data of its event.
// Rule agent/ST-3.
func TestState_IsInTheInterruptPointAndItsEvent(t *testing.T) {
	matrix(t, testWhereTheRunIs[ordinary], testWhereTheRunIs[agentic])
}

func testWhereTheRunIs[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	a := setup(t, says(d.answer("", wanted{"t", "1", object})), []tool.BaseTool{asksFirst("t", &diary{})})
	all := read(t, bare(t.Context(), a, streaming))
	last := all[len(all)-1]
	require.Equal(t, "tester", last.AgentName)
	data := last.Action.Interrupted.Data.(*ChatModelAgentInterruptInfo)
	require.NotEmpty(t, data.Data)
	require.Equal(t, data.Data, last.Action.signal.InterruptState.State)
	require.NotNil(t, data.Info)

	asking, err := compose.NewChain[string, string]().AppendLambda(compose.InvokableLambda(
		func(ctx context.Context, _ string) (string, error) {
			return "", compose.Interrupt(ctx, "not yet")
		})).Compile(t.Context())
	require.NoError(t, err)
	// a run that was interrupted before there was a graph has no point to continue from
	a = setup(t, says(d.answer("done")), nil, func(c *TypedChatModelAgentConfig[M]) {
		c.GenModelInput = func(ctx context.Context, _ string, _ *TypedAgentInput[M]) ([]M, error) {
			_, err := asking.Invoke(ctx, "")
			return nil, err
		}
	})
	require.ErrorContains(t, endError(t, read(t, bare(t.Context(), a, streaming))),
		"interrupt occurred but checkpoint data is missing")
}

// TestState_ComesBackFromACheckpoint: a state comes back as it was, but for what is of the process.
// Rule agent/ST-2.
func TestState_ComesBackFromACheckpoint(t *testing.T) {
	t.Run("ordinary", testSavedState[ordinary])
	t.Run("agentic", testSavedState[agentic])
}

func testSavedState[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	held := &newMessageEvent(d.answer("held"), nil).event
	held.Action = NewExitAction()
	held.RunPath = nil
	s := &agentState[M]{
		Messages:  []M{opsOf[M]().user("hi"), d.answer("a", wanted{"t", "1", object})},
		Extra:     map[string]any{"k": 1, "why": &WillRetryError{ErrStr: "again", RetryAttempt: 2}},
		ToolInfos: []*schema.ToolInfo{{Name: "t"}}, DeferredToolInfos: []*schema.ToolInfo{{Name: "later"}},
		ToolsInitialised:  true,
		HasReturnDirectly: true, ReturnDirectlyToolCallID: "1", ReturnDirectlyEvent: held,
		ReturnDirectlyAction: NewExitAction(),
		ToolGenActions:       map[string]*AgentAction{"1": NewTransferToAgentAction("b")},
		AgentName:            "tester", RemainingIterations: 3, RetryAttempt: 1, CallSeed: [2]uint64{1, 1 << 63},
		ToolMsgIDs: map[string]map[string]string{"t": {"1": "id"}}, ResumeAt: resumeAfterResults,
	}
	for i, f := 0, reflect.ValueOf(*s); i < f.NumField(); i++ {
		require.Equal(t, f.Type().Field(i).IsExported(), !f.Field(i).IsZero(), f.Type().Field(i).Name)
	}
	data, err := new(serialization.InternalSerializer).Marshal(s)
	require.NoError(t, err)
	var back any
	require.NoError(t, new(serialization.InternalSerializer).Unmarshal(data, &back))
	require.Equal(t, s, back)
}
