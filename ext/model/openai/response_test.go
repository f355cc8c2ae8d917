package openai

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// answer returns the message of a response that has the given fields.
func answerOf(t *testing.T, body string) *schema.Message {
	t.Helper()
	m, err := newModel(t, whole(body)).Generate(t.Context(), question)
	require.NoError(t, err)
	return m
}

func TestResponse_Everything(t *testing.T) {
	m := answerOf(t, `
		{"id":"r-1","object":"chat.completion","model":"m-1","service_tier":"default","system_fingerprint":"fp","provider":"P",
		"choices":[
			{"index":1,"message":{"content":"other"}},
			{"index":0,"finish_reason":"tool_calls","logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-1}]}]},
			"message":{"role":"assistant","content":"text","reasoning_content":"thought","refusal":"no","annotations":[{"type":"url_citation"},{"n":2}],
				"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`)
	require.Equal(t, &schema.Message{
		Role: schema.Assistant, Content: "text", ReasoningContent: "thought",
		ToolCalls: []schema.ToolCall{{ID: "1", Type: "function",
			Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}},
		ResponseMeta: &schema.ResponseMeta{
			FinishReason: "tool_calls", ID: "r-1", Model: "m-1", Provider: "openai_compatible",
			Usage: &schema.TokenUsage{
				PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15,
				PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: 4},
				CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 3},
			},
			LogProbs: &schema.LogProbs{Content: []schema.LogProb{{
				Token: "a", LogProb: -0.5, Bytes: []int64{97}, TopLogProbs: []schema.TopLogProb{{Token: "b", LogProb: -1}},
			}}},
		},
		Extra: map[string]any{
			"openai_response_id": "r-1", "openai_model": "m-1", "openai_request_id": "req-1", "openai_provider": "P",
			"service_tier": "default", "openai_system_fingerprint": "fp",
			"openai_refusal": "no", "openai_annotations": `{"type":"url_citation"}{"n":2}`,
			"openai_reasoning_field": "reasoning_content", "origin": "openai/server.test/chat",
			"usage_raw": `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}`,
		},
	}, m)
	require.Equal(t, ResponseInfo{ID: "r-1", RequestID: "req-1", Model: "m-1", Provider: "P", ServiceTier: "default",
		SystemFingerprint: "fp"}, GetResponseInfo(m))
	require.Equal(t, "no", GetRefusal(m))
	require.Equal(t, []json.RawMessage{json.RawMessage(`{"type":"url_citation"}`), json.RawMessage(`{"n":2}`)},
		GetAnnotations(m))
	require.Zero(t, GetResponseInfo(nil))

	t.Run("what it keeps survives gob and JSON", func(t *testing.T) {
		var buf bytes.Buffer
		var viaGob, viaJSON schema.Message
		require.NoError(t, gob.NewEncoder(&buf).Encode(m))
		require.NoError(t, gob.NewDecoder(&buf).Decode(&viaGob))
		data, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &viaJSON))
		require.Equal(t, *m, viaGob)
		require.Equal(t, *m, viaJSON)
	})
}

func TestResponse_ContentDialects(t *testing.T) {
	for name, c := range map[string]struct {
		message         string
		text, reasoning string
	}{
		"text":           {`{"content":"a"}`, "a", ""},
		"null":           {`{"content":null}`, "", ""},
		"parts":          {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "ab", ""},
		"thinking parts": {`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"a"}]}`, "a", "t"},
		"odd parts":      {`{"content":[{"type":"text","text":"a"},7,null,{"text":{}}]}`, "a", ""},
		"a number":       {`{"content":7}`, "", ""},
		"transcript":     {`{"content":null,"audio":{"transcript":"said"}}`, "said", ""},
		"reasoning":      {`{"content":"a","reasoning":"t"}`, "a", "t"},
		"both":           {`{"content":"a","reasoning":"t","reasoning_content":"t"}`, "a", "t"},
		"odd reasoning":  {`{"content":"a","reasoning":{"x":1},"reasoning_details":7}`, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := answerOf(t, `{"choices":[{"message":`+c.message+`}]}`)
			require.Equal(t, c.text, m.Content)
			require.Equal(t, c.reasoning, m.ReasoningContent)
			m = joined(t, stream(t, newModel(t,
				streaming(`data: {"choices":[{"delta":`+c.message+`}]}`+"\n\n"+stopChunk+doneChunk))))
			require.Equal(t, c.text, m.Content)
			require.Equal(t, c.reasoning, m.ReasoningContent)
		})
	}
}

func TestResponse_Media(t *testing.T) {
	url, data, sound := "https://i/1", "AAAA", "BBBB"
	m := answerOf(t, `{"choices":[{"message":{"content":[{"type":"image_url","image_url":{"url":"https://i/1"}}],
		"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}],"audio":{"data":"BBBB"}}}]}`)
	require.Equal(t, []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
		{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data,
				MIMEType: "image/png"}}},
		{Type: schema.ChatMessagePartTypeAudioURL,
			Audio: &schema.MessageOutputAudio{MessagePartCommon: schema.MessagePartCommon{Base64Data: &sound}}},
	}, m.AssistantGenMultiContent)
}

func TestResponse_UsageDialects(t *testing.T) {
	usage := func(prompt, completion, total, cached, reasoning int) *schema.TokenUsage {
		return &schema.TokenUsage{
			PromptTokens: prompt, CompletionTokens: completion, TotalTokens: total,
			PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: cached},
			CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: reasoning},
		}
	}
	for name, c := range map[string]struct {
		fields string
		want   *schema.TokenUsage
	}{
		"none":            {`"x":1`, nil},
		"null":            {`"usage":null`, nil},
		"no total":        {`"usage":{"prompt_tokens":2,"completion_tokens":3}`, usage(2, 3, 5, 0, 0)},
		"reasoning aside": {`"usage":{"prompt_tokens":432,"completion_tokens":68,"total_tokens":636,"completion_tokens_details":{"reasoning_tokens":136}}`, usage(432, 204, 636, 0, 136)},
		"details null":    {`"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null}`, usage(2, 3, 5, 0, 0)},
		"DeepSeek": {`"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5,"prompt_cache_hit_tokens":1}`,
			usage(2, 3, 5, 1, 0)},
		"Groq": {`"x_groq":{"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}}`, usage(2, 3, 5, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			m := answerOf(t, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],`+c.fields+`}`)
			require.Equal(t, c.want, m.ResponseMeta.Usage)
			m = joined(t, stream(t, newModel(t,
				streaming(chunk("a")+stopChunk+`data: {"choices":[],`+c.fields+"}\n\n"+doneChunk))))
			require.Equal(t, c.want, m.ResponseMeta.Usage)
		})
	}
	t.Run("in the choice", func(t *testing.T) {
		body := chunk("a") +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":2,"completion_tokens":3,"cached_tokens":1}}]}` + "\n\n" + doneChunk
		require.Equal(t, usage(2, 3, 5, 1, 0), joined(t, stream(t, newModel(t, streaming(body)))).ResponseMeta.Usage)
	})
	t.Run("in every chunk", func(t *testing.T) {
		body := `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4}}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4}}` + "\n\n" + doneChunk
		require.Equal(t, usage(2, 2, 4, 0, 0), joined(t, stream(t, newModel(t, streaming(body)))).ResponseMeta.Usage)
	})
}

func TestResponse_StreamedMetadata(t *testing.T) {
	logProb := func(token string) string {
		return `"logprobs":{"content":[{"token":"` + token + `","logprob":-1,"bytes":null,"top_logprobs":[]}]}`
	}
	body := ": comment\n\n" +
		`data: {"id":"r","model":"m-1","choices":[],"prompt_filter_results":[]}` + "\n\n" +
		`data: {"id":"r","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"r","model":"m-1","choices":[{"index":0,"delta":{"content":"a","refusal":"n"},` + logProb("a") + `}]}` +
		"\n\n" +
		`data: {"id":"r","model":"m-1","choices":[{"index":1,"delta":{"content":"other"}}]}` + "\n\n" +
		`data: {"id":"r","model":"m-1","service_tier":"on_demand","choices":[{"index":0,"delta":{"content":"b","refusal":"o"},` + logProb("b") + `,"finish_reason":"length"}]}` + "\n\n" +
		`data: {"id":"r","model":"m-1","service_tier":"on_demand","choices":[{"index":0,"delta":{"content":""},"finish_reason":"length"}]}` + "\n\n" + doneChunk
	m := joined(t, stream(t, newModel(t, streaming(body))))
	require.Equal(t, "ab", m.Content)
	require.Equal(t, "no", GetRefusal(m))
	require.Equal(t, "length", m.ResponseMeta.FinishReason)
	require.Len(t, m.ResponseMeta.LogProbs.Content, 2)
	require.Equal(t, ResponseInfo{ID: "r", RequestID: "req-1", Model: "m-1", ServiceTier: "on_demand"}, GetResponseInfo(m))
}

func TestResponse_RefusalIsSentBack(t *testing.T) {
	m := answerOf(t, `{"choices":[{"message":{"content":null,"refusal":"no"}}]}`)
	require.JSONEq(t, `[{"role":"assistant","refusal":"no"}]`, sentMessages(t, unchanged, m))
}

func TestResponse_ByteOrderMark(t *testing.T) {
	m, err := newModel(t, whole("\uFEFF"+`{"choices":[{"message":{"content":"a"}}]}`)).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "a", m.Content)
}

func TestResponse_EmptyAnswerIsAMessage(t *testing.T) {
	m := answerOf(t, `{"choices":[{"message":null}]}`)
	require.Equal(t, schema.Assistant, m.Role)
}
