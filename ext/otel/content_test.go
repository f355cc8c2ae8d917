package weftotel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// schemaOf are the JSON schemas of the conventions for attributes with content.
var schemaOf = map[attribute.Key]string{
	"gen_ai.input.messages": "gen-ai-input-messages.json", "gen_ai.output.messages": "gen-ai-output-messages.json",
	"gen_ai.system_instructions": "gen-ai-system-instructions.json", "gen_ai.tool.definitions": "gen-ai-tool-definitions.json",
	"gen_ai.retrieval.documents": "gen-ai-retrieval-documents.json",
}

// requireValid validates a value by the schema of its attribute, and reports whether that has one.
func requireValid(t *testing.T, key attribute.Key, text string) bool {
	t.Helper()
	file, ok := schemaOf[key]
	if !ok {
		return false
	}
	s, err := jsonschema.NewCompiler().Compile("testdata/" + file)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	require.NoError(t, s.Validate(value), "%s: %s", key, text)
	return true
}

// everything is an agent that is called with, calls and answers all kinds of content.
func everything(t *testing.T) adk.Agent {
	look := newTool(t, "look", answers)
	said := schema.AssistantMessage("looking", []schema.ToolCall{
		{ID: "c1", Function: schema.FunctionCall{Name: "look", Arguments: call}}})
	said.ReasoningContent = "canary thought"
	said.ResponseMeta = &schema.ResponseMeta{FinishReason: "tool_calls"}
	return newAgent(t, "a", []tool.BaseTool{look}, adktest.Messages(said), metered("canary answer", 3, 1))
}

// TestContent_IsThatOfTheConventions: every value that is recorded is valid by their schemas.
// Rules telemetry/OT-20, telemetry/OT-28.
func TestContent_IsThatOfTheConventions(t *testing.T) {
	tel := newTelemetry(t, Config{Content: SpansAndEvents, ToolSchemas: true})
	tel.run(everything(t), false)
	require.Equal(t, `invoke_agent a [internal] messages=[{"parts":[{"content":"canary question","type":"text"}],"role":"user"}] messages=[{"finish_reason":"stop","parts":[{"content":"canary answer","type":"text"}],"role":"assistant"}]
  chat [client] messages=[{"parts":[{"content":"canary question","type":"text"}],"role":"user"}] messages=[{"finish_reason":"tool_call","parts":[{"content":"canary thought","type":"reasoning"},{"content":"looking","type":"text"},{"arguments":{"q":"canary argument"},"id":"c1","name":"look","type":"tool_call"}],"role":"assistant"}] system_instructions=[{"content":"canary instruction","type":"text"}]
  execute_tool look [internal] arguments={"q":"canary argument"} result=canary result
  chat [client] messages=[{"parts":[{"content":"canary question","type":"text"}],"role":"user"},{"parts":[{"content":"canary thought","type":"reasoning"},{"content":"looking","type":"text"},{"arguments":{"q":"canary argument"},"id":"c1","name":"look","type":"tool_call"}],"role":"assistant"},{"parts":[{"id":"c1","response":"canary result","type":"tool_call_response"}],"role":"tool"}] messages=[{"finish_reason":"stop","parts":[{"content":"canary answer","type":"text"}],"role":"assistant"}] system_instructions=[{"content":"canary instruction","type":"text"}]
`, tel.tree("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments",
		"gen_ai.tool.call.result"))
	validated := 0
	for _, s := range tel.spans.GetSpans() {
		for _, kv := range s.Attributes {
			if requireValid(t, kv.Key, kv.Value.String()) {
				validated++
			}
		}
	}
	require.Len(t, tel.logs.records, 2)
	for _, r := range tel.logs.records {
		require.Equal(t, "gen_ai.client.inference.operation.details", r.EventName())
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			if kv.Value.Type() == attribute.SLICE && requireValid(t, kv.Key, kv.Value.String()) {
				validated++
			}
			return true
		})
	}
	require.Equal(t, 2+2*3+2*3, validated)
}

// Rules telemetry/OT-20, telemetry/OT-21.
func TestContent_OfAgenticMessagesAndMedia(t *testing.T) {
	url, data := "https://example.com/a.png", "aGk="
	image := &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}}
	audio := &schema.MessageInputAudio{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "audio/wav"}}
	for _, media := range []bool{false, true} {
		tel := newTelemetry(t, Config{Content: Spans, Media: media, ToolSchemas: media})
		info := &callbacks.RunInfo{Component: components.ComponentOfChatModel}
		ctx := callbacks.InitCallbacks(t.Context(), info, tel.Handler)
		ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: []*schema.Message{nil, {Role: schema.User,
			UserInputMultiContent: []schema.MessageInputPart{{Image: image}, {Audio: audio}, {Text: "see"}}}},
			Tools: []*schema.ToolInfo{{Name: "look", Desc: "looks", ParamsOneOf: schema.NewParamsOneOfByParams(
				map[string]*schema.ParameterInfo{"q": {Type: schema.String}})}}})
		callbacks.OnEnd(ctx, &model.CallbackOutput{Message: schema.AssistantMessage("ok", nil)})

		info = &callbacks.RunInfo{Component: components.ComponentOfAgenticModel}
		ctx = callbacks.InitCallbacks(t.Context(), info, tel.Handler)
		ctx = callbacks.OnStart(ctx, &model.AgenticCallbackInput{Messages: []*schema.AgenticMessage{
			schema.SystemAgenticMessage("rules"), schema.UserAgenticMessage("hi"),
			{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{nil,
				{Reasoning: &schema.Reasoning{Text: "hm", Signature: "secret signature"}},
				{ServerToolCall: &schema.ServerToolCall{Name: "search", CallID: "s1", Arguments: map[string]any{"q": "x"}}},
				{ServerToolResult: &schema.ServerToolResult{Name: "search", CallID: "s1", Content: []int{1}}},
				{MCPToolCall: &schema.MCPToolCall{Name: "m", CallID: "m1", Arguments: "{"}},
				{FunctionToolCall: &schema.FunctionToolCall{CallID: "f1", Name: "look", Arguments: "{}"}}}},
		}})
		callbacks.OnEnd(ctx, &model.AgenticCallbackOutput{Message: schema.UserAgenticMessage("ok")})

		spans := tel.spans.GetSpans()
		require.Len(t, spans, 2)
		for _, s := range spans {
			for _, kv := range s.Attributes {
				requireValid(t, kv.Key, kv.Value.String())
			}
		}
		all := fmt.Sprint(spans)
		require.Equal(t, media, strings.Contains(all, data))
		require.Contains(t, all, url)
		require.Contains(t, all, `\"name\":\"look\"`)
		require.Equal(t, media, strings.Contains(all, `\"properties\"`))
		require.NotContains(t, all, "secret signature")
		require.Contains(t, all, `{\"_raw\":\"{\"}`)
	}
}

// Rule telemetry/OT-20.
func TestContent_OfRetrieval(t *testing.T) {
	tel := newTelemetry(t, Config{Content: Spans})
	info := &callbacks.RunInfo{Name: "docs", Component: components.ComponentOfRetriever}
	ctx := callbacks.InitCallbacks(t.Context(), info, tel.Handler)
	ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{Query: "why?", TopK: 3})
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: []*schema.Document{(&schema.Document{ID: "1", Content: "so"}).WithScore(0.5)}})
	require.Equal(t, `retrieval docs [client] top_k=3 text=why? documents=[{"content":"so","id":"1","score":0.5}]
`, tel.tree("gen_ai.request.top_k", "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"))
	requireValid(t, "gen_ai.retrieval.documents", valueOf(tel.spans.GetSpans()[0].Attributes, "gen_ai.retrieval.documents"))
}

func TestContent_AFailedCallIsAnEvent(t *testing.T) {
	for _, withText := range []bool{false, true} {
		tel := newTelemetry(t, Config{Content: Events, ErrorText: withText})
		tel.run(newAgent(t, "a", nil, adktest.Fails(errors.New("canary error"))), false)
		require.NoError(t, tel.Wait(t.Context()))
		failed := tel.logs.records[len(tel.logs.records)-1]
		require.Equal(t, exceptionEvent, failed.EventName())
		require.Equal(t, log.SeverityWarn, failed.Severity())
		shown := map[string]string{}
		failed.WalkAttributes(func(kv attribute.KeyValue) bool {
			shown[string(kv.Key)] = kv.Value.String()
			return true
		})
		require.Equal(t, "_OTHER", shown["exception.type"])
		if withText {
			require.Contains(t, shown["exception.message"], "canary error")
		} else {
			require.NotContains(t, shown, "exception.message")
		}
	}
}

// TestContent_IsRedactedBeforeAnybodySeesIt, and uploaded whatever the policy is.
// Rules telemetry/OT-21, telemetry/OT-22.
func TestContent_IsRedactedBeforeAnybodySeesIt(t *testing.T) {
	var mu sync.Mutex
	uploaded := map[string]int{}
	tel := newTelemetry(t, Config{
		Redact: func(_ context.Context, c *Content) *Content {
			if c.Operation == "execute_tool" {
				return nil
			}
			c.Input, c.Instructions = nil, nil
			return c
		},
		Upload: func(_ context.Context, span trace.Span, c *Content) {
			mu.Lock()
			defer mu.Unlock()
			require.True(t, span.SpanContext().IsValid())
			require.Empty(t, c.Input)
			uploaded[c.Operation]++
		}})
	tel.run(everything(t), false)
	tel.tree()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int{"chat": 2, "invoke_agent": 1}, uploaded)
	require.NotContains(t, fmt.Sprint(tel.spans.GetSpans()), "canary")
}

// TestContent_IsCutInsideTexts: what is left is JSON, and as long as it may be.
// Rule telemetry/OT-21.
func TestContent_IsCutInsideTexts(t *testing.T) {
	long := messageValues([]Message{{Role: "user", Parts: []Part{{Type: "text", Content: strings.Repeat("é", 10_000)}}},
		{Role: "assistant", Parts: []Part{{Type: "text", Content: "short"}}}}, false)
	for _, most := range []int{300, 1000, 5000, 50_000} {
		short := fitting(long, most)
		data, err := json.Marshal(short)
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), most)
		require.True(t, utf8.Valid(data))
		require.Contains(t, string(data), "short")
		requireValid(t, "gen_ai.input.messages", string(data))
	}
	many := make([]any, 1000)
	for i := range many {
		many[i] = map[string]any{"role": "user", "parts": []any{}, "n": float64(i)}
	}
	last := fitting(many, 200).([]any)
	require.NotEmpty(t, last)
	require.EqualValues(t, 999, last[len(last)-1].(map[string]any)["n"])
}

// TestContent_Structured: maps and lists instead of text.
// Rule telemetry/OT-19.
func TestContent_Structured(t *testing.T) {
	tel := newTelemetry(t, Config{Content: Spans, Structured: true})
	tel.run(everything(t), false)
	tel.tree()
	found := false
	for _, s := range tel.spans.GetSpans() {
		for _, kv := range s.Attributes {
			if kv.Key == "gen_ai.input.messages" {
				found = true
				require.Equal(t, attribute.SLICE, kv.Value.Type())
			}
		}
	}
	require.True(t, found)
}

func TestContentPolicy_FromEnv(t *testing.T) {
	for value, want := range map[string]ContentPolicy{"": None, "NO_CONTENT": None, "true": Spans, "SPAN_ONLY": Spans,
		"EVENT_ONLY": Events, "span_and_event": SpansAndEvents, "nonsense": None} {
		t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
		require.Equal(t, want, New(Config{}).policy, value)
	}
}
