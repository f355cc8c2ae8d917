package runlog_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// dataOf are the data of the events of a type.
func dataOf[D any](events []runlog.Event) (all []*D) {
	for _, e := range events {
		if d, ok := e.Data.(*D); ok {
			all = append(all, d)
		}
	}
	return all
}

// Rule runlog/RL2.
func TestObserve_RecordsWhichToolsAreIdempotent(t *testing.T) {
	reads, err := utils.InferTool("reads", "reads", func(context.Context, struct{}) (string, error) { return "read", nil },
		utils.WithIdempotent())
	require.NoError(t, err)
	writes := toolOf(t, "writes", func(context.Context) (string, error) { return "written", nil })
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t,
		adktest.Calls(adktest.Call("reads", `{}`), adktest.Call("writes", `{}`)), adktest.Says("done"))}, reads, writes)})
	idempotent := map[string]bool{}
	for _, d := range dataOf[runlog.ToolStartData](events) {
		idempotent[d.Name] = d.Idempotent
	}
	require.Equal(t, map[string]bool{"reads": true, "writes": false}, idempotent)
}

// Rule runlog/RL2.
func TestObserve_RecordsProgress(t *testing.T) {
	half := 0.5
	works := toolOf(t, "works", func(ctx context.Context) (string, error) {
		return "worked", adk.SendEvent(ctx, &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: &runlog.ProgressData{
			Call: compose.GetToolCallID(ctx), Done: &half, Message: "half of it"}}})
	})
	call := adktest.Calls(adktest.ToolCall{ID: "call_0", Name: "works", Arguments: `{}`})
	events := record(t, adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, call, call, adktest.Says("done"))}, works)})
	require.Empty(t, dataOf[runlog.CustomData](events))
	var calls []string
	for _, d := range dataOf[runlog.ProgressData](events) {
		require.Equal(t, &half, d.Done)
		require.Equal(t, "half of it", d.Message)
		calls = append(calls, d.Call)
	}
	require.Equal(t, []string{"call_0", "call_0~2"}, calls)
}

// used is an answer that says what it has used.
func used(m *schema.Message, prompt, completion int) *schema.Message {
	m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: prompt, CompletionTokens: completion,
		TotalTokens: prompt + completion}}
	return m
}

// Rule runlog/RL2.
func TestObserve_RecordsWhatARunCosts(t *testing.T) {
	byToken := func(call runlog.PricedCall) (float64, string, bool) {
		return float64(call.Usage.PromptTokens)*0.1 + float64(call.Usage.CompletionTokens)*0.2, "EUR", true
	}
	last := func(m *schema.Message) runlog.Price {
		return func(call runlog.PricedCall) (float64, string, bool) {
			if call.Usage.PromptTokens == m.ResponseMeta.Usage.PromptTokens {
				panic("oh")
			}
			return byToken(call)
		}
	}
	calls := used(schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "look",
		Arguments: "{}"}}}), 1, 2)
	done := used(schema.AssistantMessage("done", nil), 10, 1)
	prices := catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{{Model: "other"}: {Price: &catalogue.Price{Input: 1e6}}})
	for name, c := range map[string]struct {
		price   runlog.Price
		answers []*schema.Message
		want    *runlog.Cost
	}{
		"all calls":        {byToken, []*schema.Message{calls, done}, &runlog.Cost{Amount: "1.7", Currency: "EUR"}},
		"no price":         {nil, []*schema.Message{calls, done}, nil},
		"a panic":          {last(done), []*schema.Message{calls, done}, nil},
		"an unknown usage": {byToken, []*schema.Message{calls, schema.AssistantMessage("done", nil)}, nil},
		"an unknown model": {runlog.CataloguePrice(prices), []*schema.Message{calls, done}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			log := runlog.New(runlog.Config{Price: c.price})
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
				Model: &answering{answers: c.answers}}, toolOf(t, "look", func(context.Context) (string, error) { return "", nil }))})
			finish(t, runner, runlog.Observe(log, runlog.About{ID: "run"})...)
			require.Equal(t, c.want, dataOf[runlog.RunEndData](eventsOf(t, log))[0].Cost)
			require.NoError(t, log.Close(t.Context()))
		})
	}
}

func TestCataloguePrice_PrefersWhatTheProviderSays(t *testing.T) {
	price := runlog.CataloguePrice(catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
		{Provider: "p", Model: "m"}: {Price: &catalogue.Price{Input: 2, Output: 4, ServiceTiers: map[string]float64{"flex": 0.5}}}}))
	call := runlog.PricedCall{Provider: "p", Model: "m", Usage: schema.TokenUsage{PromptTokens: 1e6, CompletionTokens: 1e6}}
	amount, currency, known := price(call)
	require.True(t, known)
	require.Equal(t, "USD", currency)
	require.InDelta(t, 6, amount, 1e-9)
	call.Extra = map[string]any{catalogue.ExtraServiceTier: "flex"}
	amount, _, _ = price(call)
	require.InDelta(t, 3, amount, 1e-9)
	call.Extra[catalogue.ExtraCost] = "0.25"
	amount, _, _ = price(call)
	require.InDelta(t, 0.25, amount, 1e-9)
	_, _, known = price(runlog.PricedCall{Provider: "p", Model: "other"})
	require.False(t, known)
}

// graphTool is a tool that is a graph of two nodes.
func graphTool(t *testing.T) tool.BaseTool {
	g := compose.NewGraph[string, string]()
	for _, key := range []string{"first", "second"} {
		require.NoError(t, g.AddLambdaNode(key, compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
			return in + key, nil
		}), compose.WithNodeName("the "+key)))
	}
	require.NoError(t, g.AddEdge(compose.START, "first"))
	require.NoError(t, g.AddEdge("first", "second"))
	require.NoError(t, g.AddEdge("second", compose.END))
	run, err := g.Compile(t.Context())
	require.NoError(t, err)
	return toolOf(t, "graph", func(ctx context.Context) (string, error) { return run.Invoke(ctx, "") })
}

// Nodes are recorded if they are asked for, and nothing else changes then.
//
// Rule runlog/RL2.
func TestObserve_RecordsNodesIfItIsAskedTo(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		events := func(nodes bool) (all []runlog.Event) {
			log := runlog.New(runlog.Config{})
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: streaming, Agent: agentOf(t,
				adk.ChatModelAgentConfig{Model: adktest.NewModel(t, adktest.Calls(adktest.Call("graph", `{}`)), adktest.Says("done"))},
				graphTool(t))})
			finish(t, runner, runlog.Observe(log, runlog.About{ID: "run", Nodes: nodes})...)
			all = eventsOf(t, log)
			require.NoError(t, log.Close(t.Context()))
			return all
		}
		without, with := events(false), events(true)
		require.Empty(t, dataOf[runlog.NodeStartData](without))
		var others []runlog.Event
		inTool := map[string]string{}
		open := map[runlog.SpanID]string{}
		for _, e := range with {
			switch d := e.Data.(type) {
			case *runlog.NodeStartData:
				open[e.Span] = cmp.Or(d.Node, d.Component)
				if d.Name != "" {
					inTool[d.Node] = fmt.Sprint(d.Component, " ", d.Name, " in ", open[e.Parent])
				}
			case *runlog.NodeEndData:
				require.Contains(t, open, e.Span)
				require.Nil(t, d.Error)
				delete(open, e.Span)
			default:
				others = append(others, e)
			}
		}
		require.Empty(t, open, "all nodes have ended")
		require.Equal(t, "Lambda the first in Graph", inTool["first"])
		require.Equal(t, "Lambda the second in Graph", inTool["second"])
		require.Equal(t, typesOf(without), typesOf(others))
		require.Equal(t, transcript(without), transcript(with))
	}
}

func transcript(events []runlog.Event) (lines []string) {
	for _, m := range runlog.Transcript[*schema.Message](events) {
		lines = append(lines, adktest.Line(m))
	}
	return lines
}

// A log that has dropped what it may drop has the messages of the run still.
//
// Rule runlog/RL9.
func TestLog_KeepsTheConversationWhenItDropsEvents(t *testing.T) {
	log := runlog.New(runlog.Config{MaxEvents: 30})
	finish(t, working(t, 20, 1), runlog.Observe(log, runlog.About{ID: "run"})...)
	events := eventsOf(t, log)
	require.Contains(t, typesOf(events), "dropped")
	require.Len(t, transcript(events), 41)
	require.NoError(t, log.Close(t.Context()))
}

// answering is a model that gives some messages, one after the other.
type answering struct {
	worker
	answers []*schema.Message
}

func (a *answering) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	m := a.answers[0]
	a.answers = a.answers[1:]
	return m, nil
}
