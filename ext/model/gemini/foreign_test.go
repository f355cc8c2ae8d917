package gemini_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// elsewhere is an answer of another provider.
func elsewhere(origin kit.Origin) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.Reasoning{Text: "hm", Signature: "Zm9yZWlnbg=="}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "I call."}),
		schema.NewContentBlock(&schema.ServerToolCall{Name: "web_search", CallID: "s", Arguments: `{"q":"a"}`}),
		schema.NewContentBlock(&schema.ServerToolResult{Name: "web_search", CallID: "s", Content: "found"}),
		call("toolu_1", "f", `{"a":1}`, "bm90IG91cnM="),
	}}
	m.ContentBlocks[4].Extra["item_id"] = "fc_1"
	if origin != (kit.Origin{}) {
		origin.Mark(&m.Extra)
	}
	return m
}

// Rules providers/K37, providers/K38, providers/K39.
func TestForeignAnswers_OnlyWhatEveryProviderUnderstands(t *testing.T) {
	for _, origin := range []kit.Origin{
		{}, {Provider: "anthropic", Host: "api.anthropic.com", API: "messages"}, {Provider: "openai", Host: "api.openai.com", API: "responses"},
		{Provider: "gemini", Host: "us-east5-aiplatform.googleapis.com", API: "vertex_ai"},
		{Provider: "gemini", Host: "gateway.example", API: "gemini"},
	} {
		conf, s := fake(t, parts(text("a")))
		in := []*schema.AgenticMessage{hello[0], stored(t, elsewhere(origin)), result("toolu_1", "f", "1")}
		generate(t, conf, in)
		want := `{"parts":[{"text":"I call."},{"text":"[web_search {\"q\":\"a\"}]"},{"functionCall":{"args":{"a":1},"name":"f"}}],` +
			`"role":"model"},{"parts":[{"functionResponse":{"name":"f","response":{"result":"1"}}}],"role":"user"}]`
		require.Contains(t, s.contents(0), want)
		conf, s = fake(t, parts(text("a")))
		conf.ForeignThinking = kit.ForeignThinkingText
		generate(t, conf, in)
		require.Contains(t, s.contents(0), `{"text":"\u003cthinking\u003e\nhm\n\u003c/thinking\u003e"}`)
	}
}

// Holds providers/K37: the regions of Vertex share keys, and a gateway may say what is behind it.
func TestOwnAnswers_OfOtherRegionsAndBehindGateways(t *testing.T) {
	answer := own(schema.NewContentBlock(&schema.AssistantGenText{Text: "x"}))
	answer.ContentBlocks[0].Extra = map[string]any{"gemini_signature": "c2ln"}
	in := []*schema.AgenticMessage{hello[0], answer, hello[0]}
	conf, s := fake(t, parts(text("a")))
	conf.BaseURL, conf.Origin = "https://gateway.example/v1beta", "generativelanguage.googleapis.com"
	generate(t, conf, in)
	require.Contains(t, s.contents(0), "c2ln")
	conf, s = fake(t, parts(text("a")))
	conf.BaseURL = "https://gateway.example/v1beta"
	generate(t, conf, in)
	require.NotContains(t, s.contents(0), "c2ln")

	answer.Extra = nil
	kit.Origin{Provider: "gemini", Host: "aiplatform.googleapis.com", API: "vertex_ai"}.Mark(&answer.Extra)
	conf, s = fake(t, parts(text("a")))
	vertex(conf, s)
	generate(t, conf, in)
	require.Contains(t, s.contents(0), "c2ln")
}

// Holds providers/K39, for plain messages of a model without blocks.
func TestForeignAnswers_PlainMessages(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	conf.Model = "gemini-3-pro-preview"
	answer := schema.AssistantMessage("text", []schema.ToolCall{{ID: "functions.f:0", Function: schema.FunctionCall{Name: "f"}}})
	answer.ReasoningContent = "thought"
	answer.Extra = map[string]any{"origin": "openai/api.moonshot.ai/chat"}
	_, err := chat(t, conf).Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello"), answer, schema.ToolMessage("1", "functions.f:0")})
	require.NoError(t, err)
	require.Equal(t, `[{"parts":[{"text":"Hello"}],"role":"user"},{"parts":[{"text":"text"},{"functionCall":{"args":{},"name":"f"},`+
		`"thoughtSignature":"skip_thought_signature_validator"}],"role":"model"},{"parts":[{"functionResponse":{"name":"f",`+
		`"response":{"result":"1"}}}],"role":"user"}]`, s.contents(0))
}
