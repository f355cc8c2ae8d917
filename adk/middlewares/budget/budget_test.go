package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func TestConfig(t *testing.T) {
	for _, c := range []*budget.Config{nil, {Limits: budget.Limits{ModelCalls: -1}}, {Limits: budget.Limits{Money: 1}}} {
		m, err := budget.New(t.Context(), c)
		require.Error(t, err)
		require.True(t, m == nil)
	}
}

func made[M adk.MessageType](t testing.TB, c budget.Config) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	m, err := budget.NewTyped[M](t.Context(), &c)
	require.NoError(t, err)
	return m
}

func agentOf[M adk.MessageType](
	t testing.TB, m model.BaseModel[M], handler adk.TypedChatModelAgentMiddleware[M], tools ...tool.BaseTool,
) adk.TypedAgent[M] {
	t.Helper()
	a, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: "a", Description: "an agent", Model: m, MaxIterations: 100,
			ToolsConfig: adktest.Tools(tools...), Handlers: []adk.TypedChatModelAgentMiddleware[M]{handler}})
	require.NoError(t, err)
	return a
}

// asks starts a run.
type asks[M adk.MessageType] func(
	context.Context, adktest.TB, adk.TypedAgent[M], string, ...adk.AgentRunOption,
) *adktest.Events[M]

// loop is an answer that calls the tool again, and took 60 and 40 tokens.
func loop[M adk.MessageType]() adktest.Answer {
	return adktest.Messages(messagetest.Used(messagetest.Calling[M]("a"), 60, 40)).After(time.Second)
}

// TestLimits: a model that calls a tool for ever is stopped at each limit.
func TestLimits(t *testing.T) {
	messagetest.Both(t, testLimits[*schema.Message], testLimits[*schema.AgenticMessage])
}

func testLimits[M adk.MessageType](t *testing.T) {
	prices := map[string]budget.Price{"": {Input: 10000, Output: 20000}} // 1.40 a call
	for limit, c := range map[budget.Limit]struct {
		limits budget.Limits
		calls  int
	}{
		budget.LimitModelCalls: {budget.Limits{ModelCalls: 3}, 3},
		budget.LimitToolCalls:  {budget.Limits{ToolCalls: 2}, 3},
		budget.LimitTokens:     {budget.Limits{Tokens: 250}, 3},
		budget.LimitMoney:      {budget.Limits{Money: 2.5}, 2},
		budget.LimitWallTime:   {budget.Limits{WallTime: 2500 * time.Millisecond}, 3},
	} {
		for _, ask := range []asks[M]{adktest.Ask[M], adktest.AskStreaming[M]} {
			t.Run(string(limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					script := make([]adktest.Answer, c.calls)
					for i := range script {
						script[i] = loop[M]()
					}
					m := adktest.NewTypedModel[M](t, script...)
					err := ask(t.Context(), t, agentOf(t, m, made[M](t, budget.Config{Limits: c.limits, Prices: prices}),
						adktest.NewTool("t")), "hi").Err()
					var exceeded *budget.ExceededError
					require.True(t, errors.As(err, &exceeded), err)
					require.ErrorIs(t, err, budget.ErrExceeded)
					require.Equal(t, limit, exceeded.Limit)
					require.Equal(t, c.limits, exceeded.Limits)
					require.Contains(t, exceeded.Error(), string(limit)+": ")
					require.Equal(t, c.calls, exceeded.Spent.ModelCalls)
					require.EqualValues(t, c.calls*100, exceeded.Spent.Tokens)
					require.InDelta(t, 1.4*float64(c.calls), exceeded.Spent.Money, 1e-9)
				})
			})
		}
	}
}

// TestFinalAnswer: at a limit one answer without tools is given, and says that it was cut short.
func TestFinalAnswer(t *testing.T) {
	messagetest.Both(t, testFinalAnswer[*schema.Message], testFinalAnswer[*schema.AgenticMessage])
}

func testFinalAnswer[M adk.MessageType](t *testing.T) {
	for limit, c := range map[budget.Limit]struct {
		limits budget.Limits
		result string
	}{
		budget.LimitModelCalls: {budget.Limits{ModelCalls: 1}, "{}"},
		budget.LimitToolCalls:  {budget.Limits{ToolCalls: 1}, "{}"},
		budget.LimitTokens:     {budget.Limits{Tokens: 2}, "This tool was not called: the budget is used up."},
	} {
		for _, tl := range []tool.BaseTool{adktest.NewTool("t"), adktest.NewStreamTool("t"), adktest.NewEnhancedTool("t"),
			adktest.NewEnhancedStreamTool("t")} {
			for _, ask := range []asks[M]{adktest.Ask[M], adktest.AskStreaming[M]} {
				m := adktest.NewTypedModel[M](t, adktest.Messages(messagetest.Used(messagetest.Calling[M]("a"), 1, 1)),
					adktest.Streams("the ", "end").Offered().Seeing("user: hi", "assistant: [t#a {}]", "tool t#a: "+c.result,
						"user: stop now"))
				conf := budget.Config{Limits: c.limits, FinalAnswer: true, FinalPrompt: "stop now"}
				events := ask(t.Context(), t, agentOf(t, m, made[M](t, conf), tl), "hi").ExpectText("the end")
				all := events.All()
				got, ok := budget.CutShort(all[len(all)-1].Message)
				require.True(t, ok)
				require.Equal(t, limit, got)
				_, ok = budget.CutShort(all[0].Message)
				require.False(t, ok)
			}
		}
	}
}

func TestFinalAnswer_CallsAToolAllTheSame(t *testing.T) {
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "")), adktest.Calls(adktest.Call("t", "")))
	tl := adktest.NewTool("t")
	err := adktest.Ask(t.Context(), t,
		agentOf(t, m, made[*schema.Message](t, budget.Config{Limits: budget.Limits{ToolCalls: 1}, FinalAnswer: true}), tl),
		"hi").Err()
	require.ErrorIs(t, err, budget.ErrExceeded)
	require.Len(t, tl.Calls(), 1)
}

func TestPrices(t *testing.T) {
	usage := &schema.TokenUsage{PromptTokens: 1000, CompletionTokens: 100, TotalTokens: 1100}
	usage.PromptTokenDetails = schema.PromptTokenDetails{CachedTokens: 600, CacheWriteTokens: 200}
	answer := &schema.Message{Role: schema.Assistant, Content: "x", ResponseMeta: &schema.ResponseMeta{Usage: usage}}
	conf := budget.Config{Model: "small", Limits: budget.Limits{Money: 100}, Prices: map[string]budget.Price{
		"small": {Input: 1000, CachedInput: 100, CacheWrite: 2000, Output: 5000}, "large": {Input: 10000, Output: 0}}}
	for name, want := range map[string]float64{"": 0.2 + 0.06 + 0.4 + 0.5, "large": 10} {
		account := budget.NewAccount(budget.Limits{})
		var opts []adk.AgentRunOption
		if name != "" {
			opts = append(opts, adk.WithChatModelOptions([]model.Option{model.WithModel(name)}))
		}
		adktest.Ask(budget.NewContext(t.Context(), account), t,
			agentOf(t, adktest.NewModel(t, adktest.Messages(answer)), made[*schema.Message](t, conf)), "hi",
			opts...).ExpectText("x")
		require.InDelta(t, want, account.Spent().Money, 1e-9)
	}
	err := adktest.Ask(t.Context(), t, agentOf(t, adktest.NewModel(t), made[*schema.Message](t, conf)), "hi",
		adk.WithChatModelOptions([]model.Option{model.WithModel("unknown")})).Err()
	require.ErrorContains(t, err, `no price for model "unknown"`)
}

func TestAccount_LastsLongerThanRuns(t *testing.T) {
	account := budget.NewAccount(budget.Limits{ModelCalls: 3})
	account.Add(budget.Spent{ModelCalls: 1})
	ctx := budget.NewContext(t.Context(), account)
	handler := made[*schema.Message](t, budget.Config{})
	agent := agentOf(t, adktest.NewModel(t, adktest.Says("1"), adktest.Says("2")), handler)
	adktest.Ask(ctx, t, agent, "hi").ExpectText("1")
	adktest.Ask(ctx, t, agent, "hi").ExpectText("2")
	require.ErrorIs(t, adktest.Ask(ctx, t, agent, "hi").Err(), budget.ErrExceeded)
	require.Equal(t, 3, account.Spent().ModelCalls)
	require.Error(t, account.Exceeded())
}

func TestAccount_SubAgents(t *testing.T) {
	for name, same := range map[string]bool{"one middleware": true, "two": false} {
		t.Run(name, func(t *testing.T) {
			outer := made[*schema.Message](t, budget.Config{Limits: budget.Limits{ModelCalls: 3}})
			inner := outer
			if !same {
				inner = made[*schema.Message](t, budget.Config{Limits: budget.Limits{ModelCalls: 10}})
			}
			below := agentOf(t, adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
				adktest.Calls(adktest.Call("t", "{}"))), inner, adktest.NewTool("t"))
			agent := agentOf(t, adktest.NewModel(t, adktest.Calls(adktest.Call("below", "{}"))), outer, running{below})
			err := adktest.Ask(t.Context(), t, agent, "hi").Err()
			var exceeded *budget.ExceededError
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, 3, exceeded.Spent.ModelCalls, "one above and two below")
		})
	}
}

// running is an agent as a tool.
type running struct{ agent adk.Agent }

func (running) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "below"}, nil
}

func (r running) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (text string, err error) {
	events := r.agent.Run(ctx, &adk.AgentInput{Messages: []adk.Message{schema.UserMessage("go")}})
	for {
		e, ok := events.Next()
		if !ok {
			return text, err
		}
		if e.Err != nil {
			err = e.Err
		}
	}
}

// asking interrupts the first time.
type asking struct{}

func (asking) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "ask"}, nil
}

func (asking) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[any](ctx); was {
		return "yes", nil
	}
	return "", tool.Interrupt(ctx, "may I?")
}

func TestAccount_SurvivesResume(t *testing.T) {
	store := adktest.NewStore()
	handler := made[*schema.Message](t, budget.Config{Limits: budget.Limits{ModelCalls: 2, ToolCalls: 1}})
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), adktest.Calls(adktest.Call("ask", "{}")))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, m, handler, asking{}), CheckPointStore: store})
	adktest.Collect(t, runner.Query(t.Context(), "hi", adk.WithCheckPointID("1"))).ExpectNoError()
	events, err := runner.Resume(t.Context(), "1")
	require.NoError(t, err)
	var exceeded *budget.ExceededError
	require.ErrorAs(t, adktest.Collect(t, events).Err(), &exceeded)
	require.Equal(t, budget.LimitToolCalls, exceeded.Limit)
	require.Equal(t, 2, exceeded.Spent.ModelCalls, "one before and one after")
	require.Equal(t, 1, exceeded.Spent.ToolCalls, "an interrupted call counts once")
}

func TestHooks_OutsideARun(t *testing.T) {
	m := made[*schema.Message](t, budget.Config{Limits: budget.Limits{ModelCalls: 1}})
	state := &adk.ChatModelAgentState{}
	ctx, got, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err)
	require.NotNil(t, ctx)
	require.Same(t, state, got)
	inner := adktest.NewModel(t)
	wrapped, err := m.WrapModel(t.Context(), inner, nil)
	require.NoError(t, err)
	require.Same(t, inner, wrapped)
}

func TestCosts(t *testing.T) {
	m := made[*schema.Message](t, budget.Config{Limits: budget.Limits{ModelCalls: 1 << 30}})
	ctx, _, err := m.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	state := &adk.ChatModelAgentState{}
	inner := answering{schema.AssistantMessage("x", nil)}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		_, _, _ = m.BeforeModelRewriteState(ctx, state, nil)
		w, _ := m.WrapModel(ctx, inner, nil)
		_, _ = w.Generate(ctx, nil)
	}), 10.0)
}

type answering struct{ answer *schema.Message }

func (a answering) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return a.answer, nil
}

func (a answering) Stream(context.Context, []*schema.Message,
	...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{a.answer}), nil
}

// A handler before this one that interrupts the calls, such as approval, does not make them free.
func TestToolCalls_InterruptedBeforeTheyWereAskedFor(t *testing.T) {
	ask, err := approval.New(t.Context(), &approval.Config{Tools: []string{"ask"}})
	require.NoError(t, err)
	limit := made[*schema.Message](t, budget.Config{Limits: budget.Limits{ToolCalls: 1}})
	for name, handlers := range map[string][]adk.ChatModelAgentMiddleware{"before": {ask, limit}, "behind": {limit, ask}} {
		t.Run(name, func(t *testing.T) {
			called := adktest.NewTool("ask", adktest.Says("yes"))
			agent, err := adk.NewChatModelAgent(t.Context(),
				&adk.ChatModelAgentConfig{Name: "a", Handlers: handlers, ToolsConfig: adktest.Tools(called),
					Model: adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), adktest.Calls(adktest.Call("ask", "{}")))})
			require.NoError(t, err)
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
			events := adktest.Collect(t, runner.Query(t.Context(), "hi", adk.WithCheckPointID("1")))
			for {
				all := events.All()
				stopped := all[len(all)-1].Action
				if stopped == nil || stopped.Interrupted == nil {
					break
				}
				point := stopped.Interrupted.InterruptContexts[0]
				resumed, err := runner.ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{
					point.ID: point.Info.(*approval.Request).Approve()}})
				require.NoError(t, err)
				events = adktest.Collect(t, resumed)
			}
			var exceeded *budget.ExceededError
			require.ErrorAs(t, events.Err(), &exceeded)
			require.Equal(t, 1, exceeded.Spent.ToolCalls)
			require.Len(t, called.Calls(), 1)
		})
	}
}
