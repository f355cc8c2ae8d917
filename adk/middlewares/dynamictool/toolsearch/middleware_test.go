package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

const reminder = "user: <available-deferred-tools>\nA\nB\n</available-deferred-tools>"

func dynamic() []tool.BaseTool {
	return []tool.BaseTool{adktest.NewTool("A", adktest.Says("a result")), adktest.NewTool("B")}
}

func newMiddleware[M adk.MessageType](t *testing.T, byModel bool) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	m, err := NewTyped[M](t.Context(), &Config{DynamicTools: dynamic(), UseModelToolSearch: byModel})
	require.NoError(t, err)
	return m
}

// broken is a tool whose Info fails.
type broken struct {
	info func() (*schema.ToolInfo, error)
}

func (b broken) Info(context.Context) (*schema.ToolInfo, error) { return b.info() }

// Rule batteries/TS-1.
func TestNew_InvalidConfig(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		config *Config
		err    string
	}{
		{nil, "config is required"},
		{&Config{}, "tools is required"},
		{&Config{DynamicTools: []tool.BaseTool{nil}}, "failed to get dynamic tool info: the tool is nil"},
		{&Config{DynamicTools: []tool.BaseTool{broken{func() (*schema.ToolInfo, error) { return nil, boom }}}},
			"failed to get dynamic tool info: boom"},
		{&Config{DynamicTools: []tool.BaseTool{broken{func() (*schema.ToolInfo, error) { return nil, nil }}}},
			"failed to get dynamic tool info: its Info returned neither"},
		{&Config{DynamicTools: []tool.BaseTool{broken{func() (*schema.ToolInfo, error) { panic(boom) }}}},
			"failed to get dynamic tool info: panic error: boom"},
		{&Config{DynamicTools: append(dynamic(), adktest.NewTool("A"))}, "duplicate dynamic tool name: A"},
		{&Config{DynamicTools: []tool.BaseTool{adktest.NewTool("tool_search")}}, "duplicate dynamic tool name: tool_search"},
	} {
		m, err := New(t.Context(), c.config)
		require.ErrorContains(t, err, c.err)
		require.True(t, m == nil, "the interface itself is nil")
	}
}

// Rule batteries/TS-2.
func TestBeforeAgent_AddsSearchAndDynamicTools(t *testing.T) {
	for _, byModel := range []bool{false, true} {
		m := newMiddleware[adk.Message](t, byModel)
		ctx, none, err := m.BeforeAgent(t.Context(), nil)
		require.NoError(t, err)
		require.Nil(t, none)
		require.NotNil(t, ctx)
		before := &adk.ChatModelAgentContext{Tools: append(make([]tool.BaseTool, 0, 9), adktest.NewTool("static"))}
		_, after, err := m.BeforeAgent(t.Context(), before)
		require.NoError(t, err)
		require.Len(t, before.Tools, 1)
		require.Nil(t, before.Tools[:2][1])
		require.Nil(t, before.ToolSearchTool)
		var names []string
		for _, b := range after.Tools {
			info, err := b.Info(t.Context())
			require.NoError(t, err)
			names = append(names, info.Name)
		}
		require.Equal(t, []string{"static", "tool_search", "A", "B"}, names)
		require.Equal(t, byModel, after.ToolSearchTool != nil)
	}
}

// Rule batteries/TS-8.
func TestReminder_OnceBeforeTheFirstMessage(t *testing.T) {
	t.Run("message", testReminder[*schema.Message])
	t.Run("agentic", testReminder[*schema.AgenticMessage])
}

func testReminder[M adk.MessageType](t *testing.T) {
	m := newMiddleware[M](t, false)
	system := any(schema.SystemMessage("Be brief."))
	if _, ok := any(*new(M)).(*schema.AgenticMessage); ok {
		system = schema.SystemAgenticMessage("Be brief.")
	}
	user := message.NewUser[M]("hi")
	for _, c := range []struct{ history, want []string }{
		{nil, []string{reminder}},
		{[]string{"s"}, []string{"system: Be brief.", reminder}},
		{[]string{"s", "u"}, []string{"system: Be brief.", reminder, "user: hi"}},
		{[]string{"u", "s"}, []string{reminder, "user: hi", "system: Be brief."}},
	} {
		var history []M
		for _, s := range c.history {
			history = append(history, map[string]M{"s": system.(M), "u": user}[s])
		}
		before := &adk.TypedChatModelAgentState[M]{Messages: history}
		_, once, err := m.BeforeModelRewriteState(t.Context(), before, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, adktest.Lines(once.Messages))
		require.Len(t, before.Messages, len(history))
		_, twice, err := m.BeforeModelRewriteState(t.Context(), once, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, adktest.Lines(twice.Messages))
	}
	ctx, none, err := m.BeforeModelRewriteState(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NotNil(t, ctx)
}

// Rules batteries/TS-9, batteries/TS-10.
func TestVisibility_OutsideARun(t *testing.T) {
	infos := described("static", "", "tool_search", "", "A", "", "B", "")
	infos = append(infos, nil)
	m := newMiddleware[adk.Message](t, false)
	state := &adk.ChatModelAgentState{ToolInfos: infos}
	for range 3 {
		_, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"static", "tool_search"}, named(next.ToolInfos))
		require.Nil(t, next.DeferredToolInfos)
		state = next
	}
	require.Len(t, infos, 5)

	state.Messages = append(state.Messages,
		schema.ToolMessage(`{"matches":["B","none"]}`, "1", schema.WithToolName("tool_search")),
		schema.ToolMessage(`{"matches":["A"]}`, "2", schema.WithToolName("other")),
		schema.ToolMessage(`odd`, "3", schema.WithToolName("tool_search")), nil)
	for range 3 {
		_, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"static", "tool_search", "B"}, named(next.ToolInfos))
		require.Len(t, state.ToolInfos, len(named(state.ToolInfos)))
		state = next
	}

	m = newMiddleware[adk.Message](t, true)
	state = &adk.ChatModelAgentState{ToolInfos: infos[:4], DeferredToolInfos: described("mine", "")}
	for range 3 {
		_, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"static"}, named(next.ToolInfos))
		require.Equal(t, []string{"mine", "A", "B"}, named(next.DeferredToolInfos))
		state = next
	}
}

func newAgent[M adk.MessageType](
	t *testing.T, model *adktest.Model[M], handlers ...adk.TypedChatModelAgentMiddleware[M],
) *adk.TypedChatModelAgent[M] {
	t.Helper()
	agent, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: "assistant", Model: model,
			ToolsConfig: adktest.Tools(adktest.NewTool("static")), Handlers: handlers})
	require.NoError(t, err)
	return agent
}

// Rule batteries/TS-11.
func TestAgent_OffersOnlyWhatWasSelected(t *testing.T) {
	t.Run("message", testFlow[*schema.Message])
	t.Run("agentic", testFlow[*schema.AgenticMessage])
}

func testFlow[M adk.MessageType](t *testing.T) {
	model := adktest.NewTypedModel[M](t,
		adktest.Calls(adktest.Call("tool_search", `{"query":"select:A"}`)).Offered("static", "tool_search").Seeing(reminder,
			"user: Do A."),
		adktest.Calls(adktest.Call("A", `{}`)).Offered("static", "tool_search",
			"A").SeeingLast(`tool tool_search#call_1: {"matches":["A"]}`),
		adktest.Says("Done.").Offered("static", "tool_search", "A").SeeingLast(`tool A#call_2: a result`),
	)
	events := adktest.Ask(t.Context(), t, newAgent(t, model, newMiddleware[M](t, false)), "Do A.").ExpectText("Done.")
	for _, e := range events.All() {
		require.NotContains(t, e.String(), "available-deferred-tools", "the reminder is no event")
	}
}

// Rule batteries/TS-9.
func TestAgent_ModelSearches(t *testing.T) {
	model := adktest.NewTypedModel[*schema.AgenticMessage](t,
		adktest.Calls(adktest.Call("tool_search", `{"query":"select:A"}`)).Offered("static"),
		adktest.Says("Done.").Offered("static"))
	adktest.Ask(t.Context(), t, newAgent(t, model, newMiddleware[*schema.AgenticMessage](t, true)),
		"Do A.").ExpectText("Done.")
	for _, call := range model.Calls() {
		require.Equal(t, []string{"A", "B"}, named(call.Options.DeferredTools))
		require.Equal(t, "tool_search", call.Options.ToolSearchTool.Name)
	}
	result := model.Calls()[1].Messages
	found := result[len(result)-1].ContentBlocks[0].ToolSearchFunctionToolResult
	require.Equal(t, []string{"A"}, named(found.Result.Tools))
}

// rewriter changes the state before the middleware under test sees it.
type rewriter struct {
	*adk.BaseChatModelAgentMiddleware
	rewrite func(turn int, s *adk.ChatModelAgentState)
	turn    int
}

func (r *rewriter) BeforeModelRewriteState(
	ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	r.turn++
	r.rewrite(r.turn, s)
	return ctx, s, nil
}

// What was selected stays when the history is rewritten, and tools that another middleware adds are not taken away.
// Rule batteries/B13.22.
func TestAgent_SelectionSurvivesSummarization(t *testing.T) {
	model := adktest.NewModel(t,
		adktest.Calls(adktest.Call("tool_search", `{"query":"select:A"}`)).Offered("static", "tool_search"),
		adktest.Calls(adktest.Call("static", `{}`)).Offered("tool_search", "A", "late").Seeing("user: summary"),
		adktest.Says("Done.").Offered("tool_search", "A", "late").
			Seeing(reminder, "user: summary", "assistant: [static#call_2 {}]", "tool static#call_2: {}"),
	)
	r := &rewriter{rewrite: func(turn int, s *adk.ChatModelAgentState) {
		if turn == 2 {
			s.Messages = []adk.Message{schema.UserMessage("summary")}
			s.ToolInfos = append(s.ToolInfos[1:len(s.ToolInfos):len(s.ToolInfos)], &schema.ToolInfo{Name: "late"})
		}
	}}
	adktest.Ask(t.Context(), t, newAgent[adk.Message](t, model, newMiddleware[adk.Message](t, false), r),
		"Do A.").ExpectText("Done.")
}

func TestAgent_CallsSelectInLaterRuns(t *testing.T) {
	model := adktest.NewModel(t, adktest.Says("Done.").Offered("static", "tool_search", "A"))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: newAgent(t, model, newMiddleware[adk.Message](t, false))})
	adktest.Collect(t, runner.Run(t.Context(), []adk.Message{
		schema.UserMessage("Do A."), schema.AssistantMessage("",
			[]schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "A", Arguments: "{}"}}}),
		schema.ToolMessage("ok", "1", schema.WithToolName("A")), schema.UserMessage("Again."),
	})).ExpectText("Done.")
}

func TestAgent_ConcurrentRuns(t *testing.T) {
	m := newMiddleware[adk.Message](t, false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := string(rune('A' + i%2))
			model := adktest.NewModel(t,
				adktest.Calls(adktest.Call("tool_search", fmt.Sprintf(`{"query":"select:%s"}`, name))).Offered("static",
					"tool_search"),
				adktest.Says("Done.").Offered("static", "tool_search", name))
			adktest.Ask(t.Context(), t, newAgent(t, model, m), "Do it.").ExpectText("Done.")
		})
	}
	wg.Wait()
}

// probe measures a hook inside a run.
type probe struct {
	*adk.BaseChatModelAgentMiddleware
	inner  adk.ChatModelAgentMiddleware
	allocs float64
}

func (p *probe) BeforeAgent(ctx context.Context,
	runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	return p.inner.BeforeAgent(ctx, runCtx)
}

func (p *probe) BeforeModelRewriteState(
	ctx context.Context, s *adk.ChatModelAgentState, mc *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	_, s, err := p.inner.BeforeModelRewriteState(ctx, s, mc)
	p.allocs = testing.AllocsPerRun(100, func() { _, _, _ = p.inner.BeforeModelRewriteState(ctx, s, mc) })
	return ctx, s, err
}

// Rule batteries/B13.30.
func TestAgent_AllocationsOfATurnWithNothingToDo(t *testing.T) {
	p := &probe{inner: newMiddleware[adk.Message](t, false)}
	model := adktest.NewModel(t, adktest.Calls(adktest.Call("tool_search", `{"query":"select:A"}`)), adktest.Says("Done."))
	adktest.Ask(t.Context(), t, newAgent(t, model, p), "Do A.").ExpectText("Done.")
	t.Logf("%v allocations", p.allocs)
	require.LessOrEqual(t, p.allocs, 10.0)
}
