package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// everyHook is a middleware that notes each of its hooks under its name, and passes on a context that carries the path.
func everyHook[M MessageType](name string, notes *diary) *hooked[M] {
	type way struct{}
	step := func(ctx context.Context, hook string) context.Context {
		before, _ := ctx.Value(way{}).(string)
		notes.add("%s %s (%s)", name, hook, before)
		return context.WithValue(ctx, way{}, before+"/"+name+hook)
	}
	h := &hooked[M]{
		beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
			return step(ctx, "BA"), rc, nil
		},
		beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return step(ctx, "BM"), s, nil
		},
		afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return step(ctx, "AM"), s, nil
		},
		afterToolCalls: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *ToolCallsContext,
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return step(ctx, "AT"), s, nil
		},
		finalAnswer: func(ctx context.Context,
			s *TypedChatModelAgentState[M],
		) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
			return step(ctx, "FA"), AcceptFinalAnswer, s, nil
		},
		afterAgent: func(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
			return step(ctx, "AA"), nil
		},
		around: func(ctx context.Context, _ *ToolContext, args string) (context.Context, string, error) {
			return step(ctx, "WT"), args, nil
		},
	}
	h.wrapModel = func(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error) {
		step(ctx, "WM")
		return aroundModel[M](func() { notes.add("%s before", name) }, func() { notes.add("%s after", name) })(ctx, m, mc)
	}
	return h
}

// TestHooks_OrderAndContexts: one composition rule for all hooks.
// Rules agent/H-2, agent/H-7.
func TestHooks_OrderAndContexts(t *testing.T) {
	bubbled(t, testHookOrder[ordinary], testHookOrder[agentic])
}

func testHookOrder[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var notes diary
	m := says(d.answer("", wanted{"t", "1", ""}), d.answer("done"))
	m.hook = func(context.Context, int, []M) error { notes.add("model"); return nil }
	a := setup(t, m, []tool.BaseTool{echo("t")}, with[M](everyHook[M]("1", &notes), everyHook[M]("2", &notes)))
	hook := WithAfterToolCallsHook(func(context.Context) error { notes.add("run hook"); return nil })
	require.Len(t, read(t, ask(t.Context(), TypedAgent[M](a), streaming, hook)), 3)
	const run = "/1BA/2BA"
	turn := []string{
		"1 BM (" + run + ")", "2 BM (" + run + "/1BM)",
		"1 WM (" + run + "/1BM/2BM)", "1 before", "2 WM (" + run + "/1BM/2BM)", "2 before", "model", "2 after", "1 after",
		"1 AM (" + run + "/1BM/2BM)", "2 AM (" + run + "/1BM/2BM/1AM)",
	}
	want := slices.Concat([]string{"1 BA ()", "2 BA (/1BA)"}, turn,
		[]string{"1 WT (" + run + ")", "2 WT (" + run + "/1WT)", "1 AT (" + run + ")", "2 AT (" + run + "/1AT)", "run hook"},
		turn,
		[]string{"1 FA (" + run + ")", "2 FA (" + run + "/1FA)", "1 AA (" + run + ")", "2 AA (" + run + "/1AA)"})
	require.Equal(t, want, notes.all())
}

// wrapCall is a wrapped model as one function, for both ways of calling it.
type wrapCall[M MessageType] func(ctx context.Context, inner model.BaseModel[M], input []M, opts []model.Option) (*schema.StreamReader[M], error)

// wrapperOf is a WrapModel of a function, and notes that it was asked, for which tools, in which context.
func wrapperOf[M MessageType](name string, notes *diary, do wrapCall[M]) *hooked[M] {
	return &hooked[M]{wrapModel: func(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error) {
		var tools []string
		for _, t := range mc.Tools {
			tools = append(tools, t.Name)
		}
		notes.add("%s %v %v", name, ctx.Value(passedOnKey{}), tools)
		return wrapperModel[M]{m, do}, nil
	}}
}

type passedOnKey struct{}

type wrapperModel[M MessageType] struct {
	inner model.BaseModel[M]
	do    wrapCall[M]
}

func (w wrapperModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	s, err := w.do(ctx, w.inner, input, opts)
	if err != nil {
		return answer, err
	}
	return s.Recv()
}

func (w wrapperModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	return w.do(ctx, w.inner, input, opts)
}

// TestWrapModel_IsCalledWhenTheWrapperAroundItCallsOn: with what that one passes on, each time that it calls, and not at all if it
// answers by itself.
// Rule agent/H-2.
func TestWrapModel_IsCalledWhenTheWrapperAroundItCallsOn(t *testing.T) {
	bubbled(t, testLateWrapModel[ordinary], testLateWrapModel[agentic])
}

func testLateWrapModel[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	only := model.WithTools([]*schema.ToolInfo{{Name: "only"}})
	for name, c := range map[string]struct {
		first wrapCall[M]
		want  []string
	}{
		"passes on": {func(ctx context.Context, inner model.BaseModel[M], input []M, opts []model.Option) (*schema.StreamReader[M], error) {
			return inner.Stream(context.WithValue(ctx, passedOnKey{}, "from 1"), input, append(opts, only)...)
		}, []string{"1 <nil> [t]", "2 from 1 [only]"}},
		"answers by itself": {func(context.Context, model.BaseModel[M], []M, []model.Option) (*schema.StreamReader[M], error) {
			return schema.StreamReaderFromArray([]M{d.answer("cached")}), nil
		}, []string{"1 <nil> [t]"}},
	} {
		var notes diary
		plain := func(ctx context.Context, inner model.BaseModel[M], input []M, opts []model.Option) (*schema.StreamReader[M], error) {
			return inner.Stream(ctx, input, opts...)
		}
		a := setup(t, says(d.answer("done")), []tool.BaseTool{echo("t")}, with[M](wrapperOf("1", &notes, c.first), wrapperOf("2", &notes, plain)))
		read(t, ask(t.Context(), TypedAgent[M](a), streaming))
		require.Equal(t, c.want, notes.all(), name)
	}
}

// TestHooks_ErrorEndsTheRun: an error of any hook is the run's error, and later handlers are not called.
// Rules agent/B19.29, agent/H-16, agent/H-17, agent/L-7.
func TestHooks_ErrorEndsTheRun(t *testing.T) {
	bubbled(t, testHookErrors[ordinary], testHookErrors[agentic])
}

// failingHooks are middlewares that fail in one hook each.
func failingHooks[M MessageType](fail func() error) map[string]*hooked[M] {
	return map[string]*hooked[M]{
		"BeforeAgent": {beforeAgent: func(
			ctx context.Context, rc *ChatModelAgentContext,
		) (context.Context, *ChatModelAgentContext, error) {
			return ctx, rc, fail()
		}},
		"BeforeModelRewriteState": {beforeModel: func(
			ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return ctx, s, fail()
		}},
		"WrapModel": {wrapModel: func(
			_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
		) (model.BaseModel[M], error) {
			return m, fail()
		}},
		"AfterModelRewriteState": {afterModel: func(
			ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return ctx, s, fail()
		}},
		"AfterToolCallsRewriteState": {afterToolCalls: func(
			ctx context.Context, s *TypedChatModelAgentState[M], _ *ToolCallsContext,
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return ctx, s, fail()
		}},
		"BeforeFinalAnswer": {finalAnswer: func(
			ctx context.Context, s *TypedChatModelAgentState[M],
		) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
			return ctx, RejectFinalAnswer, s, fail()
		}},
		"AfterAgent": {afterAgent: func(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
			return ctx, fail()
		}},
		"wrapped tool call": {around: func(
			ctx context.Context, _ *ToolContext, args string,
		) (context.Context, string, error) {
			return ctx, args, fail()
		}},
	}
}

func testHookErrors[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	run := func(fail func() error, name string) ([]observed[M], *diary) {
		var after diary
		m := says(d.answer("", wanted{"t", "1", ""}), d.answer("done"))
		a := setup(t, m, []tool.BaseTool{echo("t")}, with[M](failingHooks[M](fail)[name], everyHook[M]("later", &after)))
		return read(t, bare(t.Context(), a, streaming)), &after
	}
	short := map[string]string{"BeforeAgent": "BA", "BeforeModelRewriteState": "BM", "AfterModelRewriteState": "AM",
		"AfterToolCallsRewriteState": "AT", "BeforeFinalAnswer": "FA", "AfterAgent": "AA", "wrapped tool call": "WT"}
	for name := range failingHooks[M](nil) {
		all, after := run(func() error { return errBroken }, name)
		err := endError(t, all)
		require.ErrorIs(t, err, errBroken, name)
		if later := short[name]; later != "" {
			require.NotRegexp(t, "later "+later, fmt.Sprint(after.all()), name)
		}
		switch name {
		case "BeforeAgent", "AfterAgent": // rules agent/L-7, agent/H-17
			require.Regexp(t, `handler\[0\] \(\*adk\.hooked\[.*\]\) `+name+` failed: `, err.Error())
		case "AfterModelRewriteState", "BeforeFinalAnswer":
			require.NotContains(t, fmt.Sprint(after.all()), "AA", "rule agent/H-16: AfterAgent is for runs that succeed")
		}
		// rule agent/B19.29: a panic is an error with its stack
		all, _ = run(func() error { panic("boom") }, name)
		err = endError(t, all)
		require.ErrorContains(t, err, "panic error:", name)
		require.ErrorContains(t, err, "boom", name)
	}
}

// TestHooks_NilMeansUnchanged: a hook that returns nil leaves what it was given in place.
// Rule agent/B19.29.
func TestHooks_NilMeansUnchanged(t *testing.T) {
	bubbled(t, testNilHooks[ordinary], testNilHooks[agentic])
}

func testNilHooks[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	empty := &hooked[M]{
		beforeAgent: func(context.Context, *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
			return nil, nil, nil
		},
		beforeModel: func(context.Context, *TypedChatModelAgentState[M],
			*TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return nil, nil, nil
		},
		wrapModel: func(context.Context, model.BaseModel[M], *TypedModelContext[M]) (model.BaseModel[M], error) {
			return nil, nil
		},
		afterModel: func(context.Context, *TypedChatModelAgentState[M],
			*TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return nil, nil, nil
		},
		afterToolCalls: func(context.Context, *TypedChatModelAgentState[M],
			*ToolCallsContext,
		) (context.Context, *TypedChatModelAgentState[M], error) {
			return nil, nil, nil
		},
		finalAnswer: func(context.Context,
			*TypedChatModelAgentState[M],
		) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
			return nil, AcceptFinalAnswer, nil, nil
		},
		afterAgent: func(context.Context, *TypedChatModelAgentState[M]) (context.Context, error) { return nil, nil },
	}
	m := says(d.answer("", wanted{"t", "1", ""}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("t")}, with[M](empty, &nilEndpoints[M]{}, empty))
	require.Equal(t, []string{"assistant: [t#1 ]", "tool t#1: <>", "assistant: done"},
		linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))))
	require.Equal(t, []string{"user: hi", "assistant: [t#1 ]", "tool t#1: <>"}, m.transcript()[1])
}

// nilEndpoints wraps tool calls in nothing.
type nilEndpoints[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
}

func (nilEndpoints[M]) WrapInvokableToolCall(
	context.Context, InvokableToolCallEndpoint, *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return nil, nil
}

// TestHooks_WhatTheyGetStaysTheirs: states that hooks were given are not changed by the run later, and what hooks keep
// behind the history they return is not written over.
func TestHooks_WhatTheyGetStaysTheirs(t *testing.T) {
	bubbled(t, testHooksKeep[ordinary], testHooksKeep[agentic])
}

func testHooksKeep[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	user := opsOf[M]().user
	kept := []M{user("one"), user("two"), user("three")}
	var states []*TypedChatModelAgentState[M]
	var copies [][]string
	keep := func(s *TypedChatModelAgentState[M]) {
		states, copies = append(states, s), append(copies, d.lines(s.Messages))
	}
	turn := 0
	h := &hooked[M]{
		beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			keep(s)
			if turn++; turn == 1 { // a window on what is kept: the answer must not be put into its place 1
				return ctx, &TypedChatModelAgentState[M]{Messages: kept[:1], ToolInfos: s.ToolInfos}, nil
			}
			return ctx, s, nil
		},
		afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			keep(s)
			return ctx, s, nil
		},
		afterToolCalls: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *ToolCallsContext,
		) (context.Context, *TypedChatModelAgentState[M], error) {
			keep(s)
			return ctx, s, nil
		},
	}
	m := says(d.answer("", wanted{"t", "1", ""}), d.answer("", wanted{"t", "1", ""}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("t")}, with[M](h, &historian[M]{}, h))
	require.Len(t, read(t, ask(t.Context(), TypedAgent[M](a), streaming)), 5)
	require.Equal(t, []string{"user: one", "user: two", "user: three"}, d.lines(kept))
	for i, s := range states {
		require.Equal(t, copies[i], d.lines(s.Messages), "state %d", i)
	}
}

// historian has the hooks of early versions only.
type historian[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	before, after []string
	mark          bool
}

func (h *historian[M]) BeforeModelRewriteHistory(ctx context.Context, ms []M) (context.Context, []M, error) {
	h.before = dialectOf[M]().lines(ms)
	if h.mark {
		ms = append(ms, opsOf[M]().user("history"))
	}
	return ctx, ms, nil
}

func (h *historian[M]) AfterModelRewriteHistory(ctx context.Context, ms []M) (context.Context, []M, error) {
	h.after = dialectOf[M]().lines(ms)
	return ctx, append([]M(nil), ms...), nil
}

// TestHooks_EarlyNames: the hooks of early versions are found by their methods.
// Rules agent/S-6, agent/S-7.
func TestHooks_EarlyNames(t *testing.T) {
	var _ HandlerMiddleware = &historian[Message]{} // rule agent/S-6
	var _ ChatModelAgentMiddleware = struct{ *BaseHandlerMiddleware }{}
	var _ = func(c *AgentContext) *ChatModelAgentContext { return c }
	bubbled(t, testEarlyHooks[ordinary], testEarlyHooks[agentic])
}

func testEarlyHooks[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	h := &historian[M]{mark: true}
	m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
	var order diary
	a := setup(t, m, []tool.BaseTool{echo("t")},
		with[M](h, &toolDresser[M]{name: "outer", notes: &order}, &toolDresser[M]{name: "inner", notes: &order}))
	require.Equal(t, []string{asked, answered, ended}, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))))
	require.Equal(t, []string{"user: hi", "user: history"}, m.transcript()[0])
	require.Equal(t, []string{"user: hi", "user: history", asked, answered, "user: history", ended}, h.after)
	require.Equal(t, []string{"inner dresses t", "outer dresses t", "outer runs", "inner runs"}, order.all(),
		"once a run, the first one outermost")
}

// toolDresser puts something around each tool.
type toolDresser[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	name  string
	notes *diary
}

func (d *toolDresser[M]) WrapTool(ctx context.Context, t tool.BaseTool) (tool.BaseTool, error) {
	info, err := t.Info(ctx)
	d.notes.add("%s dresses %s", d.name, info.Name)
	return &toolFunc{named(info.Name), func(ctx context.Context, args string) (string, error) {
		d.notes.add("%s runs", d.name)
		return t.(tool.InvokableTool).InvokableRun(ctx, args)
	}}, err
}

// TestHooks_ChangesOfToolInfosLast: where the lists of tools come from, and that a change of them lasts for later
// turns.
// Rules agent/B19.21, agent/H-4, agent/H-6, agent/L-10.
func TestHooks_ChangesOfToolInfosLast(t *testing.T) {
	bubbled(t, testToolInfos[ordinary], testToolInfos[agentic])
}

func testToolInfos[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	names := func(infos []*schema.ToolInfo) (out []string) {
		for _, i := range infos {
			out = append(out, i.Name)
		}
		return out
	}
	callers := WithChatModelOptions([]model.Option{model.WithTools([]*schema.ToolInfo{{Name: "caller's"}})})
	var seen diary
	turn := 0
	h := &hooked[M]{beforeModel: func(
		ctx context.Context, s *TypedChatModelAgentState[M], mc *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error) {
		seen.add("state %v, call %v", names(s.ToolInfos), names(mc.Tools))
		if turn++; turn == 1 {
			s.DeferredToolInfos = append(s.DeferredToolInfos, s.ToolInfos[len(s.ToolInfos)-1])
			// In place, as slices.DeleteFunc does: that must not reach the agent or its other runs.
			s.ToolInfos = slices.Delete(s.ToolInfos, 0, len(s.ToolInfos))
		}
		return ctx, s, nil
	}, wrapModel: func(_ context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error) {
		seen.add("attempt %v", names(mc.Tools))
		return m, nil
	}}
	m := says(d.answer("", wanted{"a", "1", ""}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("a"), echo("b")}, with[M](h))
	for range 2 {
		turn = 0
		m.histories = nil
		seen.lines = nil
		require.Len(t, read(t, ask(t.Context(), TypedAgent[M](a), streaming, callers)), 3, "hidden tools can still be called")
		require.Equal(t, []string{"state [a b], call [a b]", "attempt []", "state [], call [a b]", "attempt []"}, seen.all(),
			"rule agent/B19.21")
	}
	require.Equal(t, []string{"b"}, names(model.GetCommonOptions(nil, m.options[1]...).DeferredTools), "rule agent/L-10")
	require.NotNil(t, model.GetCommonOptions(nil, m.options[1]...).Tools)

	seen.lines, turn = nil, 0
	none := says(d.answer("done"))
	a = setup[M](t, none, nil, with[M](h))
	require.Len(t, read(t, ask(t.Context(), TypedAgent[M](a), streaming, callers)), 1)
	require.Equal(t, []string{"state [caller's], call [caller's]", "attempt []"}, seen.all())
}

// TestHooks_TheLastMessageDecides: the run continues with what the hooks after the model leave.
// Rules agent/R-4, agent/R-7.
func TestHooks_TheLastMessageDecides(t *testing.T) {
	bubbled(t, testLastMessage[ordinary], testLastMessage[agentic])
}

func testLastMessage[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	run := func(change func(s *TypedChatModelAgentState[M])) ([]observed[M], []string) {
		var final []string
		turn := 0
		h := &hooked[M]{
			afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
				_ *TypedModelContext[M],
			) (context.Context, *TypedChatModelAgentState[M], error) {
				if turn++; turn == 1 {
					change(s)
				}
				return ctx, s, nil
			},
			afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
				final = d.lines(s.Messages)
				return ctx, nil
			},
		}
		m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
		return read(t, bare(t.Context(), setup(t, m, []tool.BaseTool{echo("t")}, with[M](h)), streaming)), final
	}
	all, final := run(func(s *TypedChatModelAgentState[M]) { s.Messages[len(s.Messages)-1] = d.answer("no need") })
	require.Equal(t, []string{asked}, linesOf(all))
	require.Equal(t, []string{"user: hi", "assistant: no need"}, final)

	all, _ = run(func(s *TypedChatModelAgentState[M]) {
		s.Messages[len(s.Messages)-1] = d.answer("", wanted{"t", "other", "2"})
	})
	require.Equal(t, []string{asked, "tool t#other: <2>", ended}, linesOf(all))

	all, final = run(func(s *TypedChatModelAgentState[M]) { s.Messages = append(s.Messages, d.answer("appended")) })
	require.Equal(t, []string{asked}, linesOf(all))
	require.Equal(t, "assistant: appended", final[len(final)-1])

	all, _ = run(func(s *TypedChatModelAgentState[M]) { s.Messages = nil })
	require.ErrorContains(t, endError(t, all), "no messages left in state after model call")
	all, _ = run(func(s *TypedChatModelAgentState[M]) { s.Messages = append(s.Messages, d.nothing) })
	require.ErrorContains(t, endError(t, all), "nil")
}

// TestHooks_StructsRunOutsideOfHandlers: once a turn, and they share their state.
// Rules agent/MW-2, agent/MW-3, agent/MW-4.
func TestHooks_StructsRunOutsideOfHandlers(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		var notes diary
		struc := func(name string) AgentMiddleware {
			return AgentMiddleware{
				BeforeChatModel: func(_ context.Context, s *ChatModelAgentState) error {
					notes.add("%s before %d", name, len(s.Messages))
					s.Messages = append(s.Messages, schema.UserMessage(name))
					return nil
				},
				AfterChatModel: func(_ context.Context, s *ChatModelAgentState) error {
					notes.add("%s after %d", name, len(s.Messages))
					return nil
				},
				WrapToolCall: compose.ToolMiddleware{}, // rule agent/MW-4
			}
		}
		h := &hooked[Message]{
			beforeModel: func(ctx context.Context, s *ChatModelAgentState,
				_ *ModelContext,
			) (context.Context, *ChatModelAgentState, error) {
				notes.add("handler before %d", len(s.Messages))
				return ctx, s, nil
			},
			afterModel: func(ctx context.Context, s *ChatModelAgentState,
				_ *ModelContext,
			) (context.Context, *ChatModelAgentState, error) {
				notes.add("handler after %d", len(s.Messages))
				return ctx, s, nil
			},
		}
		fails := 2
		m := says(chatAnswer("done"))
		m.hook = func(context.Context, int, []Message) error {
			if fails--; fails >= 0 {
				return errBroken
			}
			return nil
		}
		conf := func(c *ChatModelAgentConfig) {
			c.Middlewares = []AgentMiddleware{struc("a"), struc("b")}
			c.ModelRetryConfig = &ModelRetryConfig{MaxRetries: 2, BackoffFunc: noPause}
		}
		require.Len(t, read(t, ask(t.Context(), Agent(setup(t, m, nil, conf, with[Message](h))), streaming)), 1)
		require.Equal(t, []string{"a before 1", "b before 2", "handler before 3", "handler after 4", "a after 4",
			"b after 4"}, notes.all())
		require.Equal(t, 3, m.calls())

		bad := func(c *ChatModelAgentConfig) {
			c.Middlewares = []AgentMiddleware{{BeforeChatModel: func(context.Context, *ChatModelAgentState) error {
				return errBroken
			}}}
		}
		m = says(chatAnswer("done"))
		require.ErrorIs(t, endError(t, read(t, ask(t.Context(), Agent(setup(t, m, nil, bad)), streaming))), errBroken)
		require.Zero(t, m.calls())
	}
}

// TestHooks_StateIsNotLocked: hooks, wrappers and tools may use the state of the graph.
// Rule agent/ST-1.
func TestHooks_StateIsNotLocked(t *testing.T) {
	touch := func(ctx context.Context) error {
		return compose.ProcessState(ctx, func(_ context.Context, s *State) error {
			if len(s.Messages) == 0 {
				return errors.New("no history")
			}
			return nil
		})
	}
	var n int
	count := func(ctx context.Context) (context.Context, error) { n++; return ctx, touch(ctx) }
	h := &hooked[Message]{
		beforeModel: func(ctx context.Context, s *ChatModelAgentState,
			_ *ModelContext,
		) (context.Context, *ChatModelAgentState, error) {
			_, err := count(ctx)
			return ctx, s, err
		},
		wrapModel: func(ctx context.Context, m model.BaseModel[Message], _ *ModelContext) (model.BaseModel[Message], error) {
			_, err := count(ctx)
			return m, err
		},
		afterModel: func(ctx context.Context, s *ChatModelAgentState,
			_ *ModelContext,
		) (context.Context, *ChatModelAgentState, error) {
			_, err := count(ctx)
			return ctx, s, err
		},
		afterToolCalls: func(ctx context.Context, s *ChatModelAgentState,
			_ *ToolCallsContext,
		) (context.Context, *ChatModelAgentState, error) {
			_, err := count(ctx)
			return ctx, s, err
		},
		finalAnswer: func(ctx context.Context,
			s *ChatModelAgentState,
		) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
			_, err := count(ctx)
			return ctx, AcceptFinalAnswer, s, err
		},
		afterAgent: func(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) { return count(ctx) },
		around: func(ctx context.Context, _ *ToolContext, args string) (context.Context, string, error) {
			_, err := count(ctx)
			return ctx, args, err
		},
	}
	m := says(chatAnswer("", wanted{"t", "1", ""}), chatAnswer("done"))
	m.hook = func(ctx context.Context, _ int, _ []Message) error { _, err := count(ctx); return err }
	appends := WithAfterToolCallsHook(func(ctx context.Context) error {
		return compose.ProcessState(ctx, func(_ context.Context, s *State) error {
			s.Messages = append(s.Messages, schema.UserMessage("from the hook"))
			return nil
		})
	})
	all := read(t, ask(t.Context(), Agent(setup(t, m, []tool.BaseTool{echo("t")}, with[Message](h))), true, appends))
	require.Equal(t, []string{"assistant: [t#1 ]", "tool t#1: <>", "assistant: done"}, linesOf(all))
	require.Equal(t, 2*4+1+1+1+1, n)
	require.Equal(t, "user: from the hook", m.transcript()[1][3])
}

// TestHooks_ToolWrappersSeeArgumentsAndErrorsAsTheyAre: a wrapper of any form of tool gets the arguments byte for
// byte, and the tool's own error.
// Rule agent/H-13.
func TestHooks_ToolWrappersSeeArgumentsAndErrorsAsTheyAre(t *testing.T) {
	bubbled(t, testWrappedErrors[ordinary], testWrappedErrors[agentic])
}

func testWrappedErrors[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	failed := errors.New("out of order")
	const args = " {\"q\": 1}\n"
	for name, bad := range map[string]tool.BaseTool{
		"invokable": &toolFunc{"t", func(context.Context, string) (string, error) { return "", failed }},
		"streamable": &streamToolFunc{"t",
			func(context.Context, string) (*schema.StreamReader[string], error) { return nil, failed }},
		"enhanced invokable": &enhancedToolFunc{"t",
			func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) { return nil, failed }},
		"enhanced streamable": &enhancedStreamToolFunc{"t",
			func(context.Context, *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return nil, failed
			}},
	} {
		seen := &seesErrors[M]{}
		a := setup(t, says(d.answer("", wanted{"t", "1", args})), []tool.BaseTool{bad}, with[M](seen))
		require.ErrorIs(t, endError(t, read(t, bare(t.Context(), a, streaming))), failed, name)
		require.Equal(t, []string{fmt.Sprintf("%q %v", args, true)}, seen.notes.all(), name)
		require.ErrorIs(t, seen.err, failed, name)
	}
}

// seesErrors notes what the wrapper of a tool call gets: the arguments, and whether an error was all.
type seesErrors[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	notes diary
	err   error
}

func (s *seesErrors[M]) note(args string, nothing bool, err error) {
	s.err = err
	s.notes.add("%q %v", args, nothing)
}

func (s *seesErrors[M]) WrapInvokableToolCall(
	_ context.Context, e InvokableToolCallEndpoint, _ *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (string, error) {
		text, err := e(ctx, args, opts...)
		s.note(args, text == "", err)
		return text, err
	}, nil
}

func (s *seesErrors[M]) WrapStreamableToolCall(
	_ context.Context, e StreamableToolCallEndpoint, _ *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		r, err := e(ctx, args, opts...)
		s.note(args, r == nil, err)
		return r, err
	}, nil
}

func (s *seesErrors[M]) WrapEnhancedInvokableToolCall(
	_ context.Context, e EnhancedInvokableToolCallEndpoint, _ *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arg *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		r, err := e(ctx, arg, opts...)
		s.note(arg.Text, r == nil, err)
		return r, err
	}, nil
}

func (s *seesErrors[M]) WrapEnhancedStreamableToolCall(
	_ context.Context, e EnhancedStreamableToolCallEndpoint, _ *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arg *schema.ToolArgument,
		opts ...tool.Option,
	) (*schema.StreamReader[*schema.ToolResult], error) {
		r, err := e(ctx, arg, opts...)
		s.note(arg.Text, r == nil, err)
		return r, err
	}, nil
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
