package weftotel

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// settled is a model that reports its settings.
type settled struct{ config model.Config }

func (settled) IsCallbacksEnabled() bool { return true }

func (m settled) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in, Config: &m.config})
	answer := schema.AssistantMessage("hi", nil)
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: answer})
	return answer, nil
}

func (m settled) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, in)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// span is the first one whose name begins with something.
func (tel *telemetry) span(name string) tracetest.SpanStub {
	tel.t.Helper()
	tel.tree()
	for _, s := range tel.spans.GetSpans() {
		if len(s.Name) >= len(name) && s.Name[:len(name)] == name {
			return s
		}
	}
	require.Fail(tel.t, "no span "+name)
	return tracetest.SpanStub{}
}

// Rule telemetry/OT-9.
func TestAttributes_OfAModelAreThoseThatWereWrittenDown(t *testing.T) {
	tel := newTelemetry(t, Config{Agent: func(name string) AgentInfo {
		return AgentInfo{ID: "agent-" + name, Version: "7", DataSource: "handbook"}
	}})
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
		Model: settled{model.Config{Model: "m-1", Provider: "Mistral", Temperature: 0.7, TopP: 0.9, MaxTokens: 5}}})
	require.NoError(t, err)
	tel.run(agent, false, adk.WithCheckPointID("run-1"))
	chat := tel.span("chat").Attributes
	require.Equal(t, "0.7", valueOf(chat, "gen_ai.request.temperature"))
	require.Equal(t, "0.9", valueOf(chat, "gen_ai.request.top_p"))
	require.Equal(t, "mistral_ai", valueOf(chat, "gen_ai.provider.name"))
	require.Equal(t, "run-1", valueOf(chat, keyRunID))
	whole := tel.span("invoke_agent").Attributes
	for key, want := range map[attribute.Key]string{"gen_ai.request.model": "m-1", "gen_ai.agent.id": "agent-a",
		"gen_ai.agent.version": "7", "gen_ai.agent.description": "", "gen_ai.data_source.id": "handbook", keyRunID: "run-1",
		"gen_ai.provider.name": "mistral_ai"} {
		require.Equal(t, want, valueOf(whole, key), key)
	}
}

// Rule telemetry/OT-10.
func TestProviderOf_HasTheNamesOfTheConventions(t *testing.T) {
	for _, c := range []struct{ said, typ, want string }{
		{"openai", "", "openai"}, {"OpenAI", "", "openai"}, {"azure.ai.inference", "", "azure.ai.inference"},
		{"gcp.gen_ai", "", "gcp.gen_ai"}, {"Google", "", "gcp.gen_ai"}, {"", "Claude", "anthropic"}, {"", "XAI", "x_ai"},
		{"", "Ollama", "ollama"}, {"Open-Router", "", "open-router"}, {"", "Model[*schema.Message]", "unknown"},
		{"", "OpenAI[*schema.Message]", "openai"}, {"", "", "unknown"}, {"My Company", "", "unknown"},
	} {
		require.Equal(t, c.want, providerOf(c.said, c.typ), c)
	}
}

// ofServer is a tool of an MCP server, by its description.
type ofServer struct{ tool.InvokableTool }

func (o ofServer) Info(ctx context.Context) (*schema.ToolInfo, error) {
	info, err := o.InvokableTool.Info(ctx)
	remote := *info
	remote.Extra = map[string]any{keyOfServer: "files"}
	return &remote, err
}

// Rule telemetry/OT-9.
func TestAttributes_SayWhatKindOfToolItIs(t *testing.T) {
	finds := newTool(t, "find", func(ctx context.Context) (string, error) {
		ctx = callbacks.ReuseHandlers(ctx, &callbacks.RunInfo{Name: "docs", Component: components.ComponentOfRetriever})
		ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{Query: "why?"})
		callbacks.OnEnd(ctx, &retriever.CallbackOutput{})
		return "", nil
	})
	tools := []tool.BaseTool{ofServer{newTool(t, "remote", answers).(tool.InvokableTool)}, finds, newTool(t, "look", answers)}
	for _, described := range []bool{false, true} {
		tel := newTelemetry(t, Config{ToolSchemas: described})
		tel.run(newAgent(t, "a", tools, adktest.Calls(adktest.Call("remote", call), adktest.Call("find", call),
			adktest.Call("look", call)), adktest.Says("hi")), false)
		for name, want := range map[string]string{"remote": "extension", "find": "datastore", "look": "function"} {
			of := tel.span("execute_tool " + name).Attributes
			kind := ""
			for _, kv := range of { // the last one counts
				if kv.Key == "gen_ai.tool.type" {
					kind = kv.Value.AsString()
				}
			}
			require.Equal(t, want, kind, name)
			if name == "look" {
				require.Equal(t, "Does what the test is for.", valueOf(of, "gen_ai.tool.description"))
			}
		}
		require.Equal(t, "docs", valueOf(tel.span("retrieval").Attributes, "gen_ai.data_source.id"))
	}
}

// A run of a conversation belongs to it by itself, another if its context says so.
// Rule telemetry/OT-8.
func TestAttributes_HaveTheConversation(t *testing.T) {
	store, err := conversation.NewStore(checkpoint.NewMemoryStore())
	require.NoError(t, err)
	_, err = store.Create(t.Context(), conversation.Info{ID: "thread-1"})
	require.NoError(t, err)
	tel := newTelemetry(t, Config{SpanAttributes: LangfuseAttributes()})
	tel.run(newAgent(t, "a", nil, adktest.Says("hi")), false, conversation.Open(store, "thread-1").RunOption(conversation.HistoryOptions{}))
	for _, name := range []string{"invoke_agent", "chat"} {
		require.Equal(t, "thread-1", valueOf(tel.span(name).Attributes, "gen_ai.conversation.id"), name)
		require.Equal(t, "thread-1", valueOf(tel.span(name).Attributes, "session.id"), name)
	}
	tel = newTelemetry(t, Config{SpanAttributes: LangfuseAttributes()})
	ctx := WithLangfuseUser(WithConversation(t.Context(), "mine"), LangfuseUser{ID: "ana", Tags: []string{"beta"}})
	r := adk.NewRunner(ctx, adk.RunnerConfig{Agent: newAgent(t, "a", nil, adktest.Says("hi"))})
	drain(r.Query(ctx, "go", adk.WithCallbacks(tel.Handler)))
	of := tel.span("chat").Attributes
	require.Equal(t, "mine", valueOf(of, "gen_ai.conversation.id"))
	require.Equal(t, "ana", valueOf(of, "user.id"))
	require.Equal(t, `["beta"]`, valueOf(of, "langfuse.trace.tags"))
}

// Rule telemetry/OT-13.
func TestMetricAttributes_MayBeLeftOut(t *testing.T) {
	tel := newTelemetry(t, Config{MetricAttributes: func([]attribute.KeyValue) []attribute.KeyValue { return nil }})
	tel.run(newAgent(t, "a", []tool.BaseTool{newTool(t, "look", answers)}, adktest.Calls(adktest.Call("look", call)),
		metered("hi", 3, 2)), false)
	tel.tree()
	require.Equal(t, map[string]float64{"gen_ai.client.operation.duration": 4, "gen_ai.client.token.usage ": 5,
		"weft.agent.runs.active": 0}, tel.measured(), "one time series each")
}

// Rule telemetry/OT-15.
func TestErrorText_IsTheDescriptionOnDemand(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		tel := newTelemetry(t, Config{ErrorText: wanted})
		tel.run(newAgent(t, "a", nil, adktest.Fails(errors.New("canary error"))), false)
		description := tel.span("chat").Status.Description
		if wanted {
			require.Equal(t, "canary error", description)
		} else {
			require.Empty(t, description)
		}
	}
}

// Rule telemetry/OT-4.
func TestHandler_WhatRunsInAToolHasItsSpanAndTheBaggage(t *testing.T) {
	tel := newTelemetry(t, Config{})
	var within trace.SpanContext
	var carried string
	look := newTool(t, "look", func(ctx context.Context) (string, error) {
		within, carried = trace.SpanContextFromContext(ctx), baggage.FromContext(ctx).Member("tenant").Value()
		return "", nil
	})
	member, err := baggage.NewMember("tenant", "t1")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	ctx := baggage.ContextWithBaggage(t.Context(), bag)
	r := adk.NewRunner(ctx, adk.RunnerConfig{
		Agent: newAgent(t, "a", []tool.BaseTool{look}, adktest.Calls(adktest.Call("look", call)), adktest.Says("hi"))})
	drain(r.Query(ctx, "go", adk.WithCallbacks(tel.Handler)))
	require.Equal(t, tel.span("execute_tool").SpanContext.SpanID(), within.SpanID())
	require.Equal(t, "t1", carried)
}

// Rule telemetry/OT-20.
func TestContent_OfAgenticAnswersHasTheReason(t *testing.T) {
	tel := newTelemetry(t, Config{Content: Spans})
	info := &callbacks.RunInfo{Component: components.ComponentOfAgenticModel}
	ctx := callbacks.OnStart(callbacks.InitCallbacks(t.Context(), info, tel.Handler), &model.AgenticCallbackInput{})
	answer := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, Extra: map[string]any{"finish_reason": "end_turn"},
		ContentBlocks: []*schema.ContentBlock{{AssistantGenText: &schema.AssistantGenText{Text: "ok"}}}}
	callbacks.OnEnd(ctx, &model.AgenticCallbackOutput{Message: answer})
	of := tel.span("chat").Attributes
	require.Equal(t, `["end_turn"]`, valueOf(of, "gen_ai.response.finish_reasons"))
	require.Contains(t, valueOf(of, "gen_ai.output.messages"), `"finish_reason":"stop"`)
}
