package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// answeredBy returns the answer of a server with items, and what is sent behind it.
func answeredBy(t *testing.T, server, name string, items ...string) (*schema.Message, *captured, func(...*schema.Message) string) {
	t.Helper()
	c := &captured{answer: responsesDoc("resp_1", "completed", items...)}
	m, err := openai.NewResponsesChatModel(t.Context(), &openai.ResponsesConfig{
		BaseURL: server, APIKey: "k", Model: name, HTTPClient: &http.Client{Transport: c},
	})
	require.NoError(t, err)
	ask := []*schema.Message{schema.UserMessage("go")}
	tools := model.WithTools([]*schema.ToolInfo{toolOf("f")})
	answer, err := m.Generate(t.Context(), ask, tools)
	require.NoError(t, err)
	return answer, c, func(behind ...*schema.Message) string {
		_, err := m.Generate(t.Context(), append([]*schema.Message{ask[0], answer}, behind...), tools)
		require.NoError(t, err)
		return string(c.bodies[len(c.bodies)-1])
	}
}

// xAI reports the steps of tools that it runs as calls of custom tools that no request offered.
func TestResponses_CustomCallsOfToolsThatWereNotOfferedAreTheServers(t *testing.T) {
	step := `{"type":"custom_tool_call","id":"ctc_1","call_id":"xs_1","name":"x_keyword_search","input":"{\"query\":\"from:xai\"}","status":"completed"}`
	answer, _, next := answeredBy(t, "https://api.x.ai/v1", "grok-4", step, textItemHi)
	require.Empty(t, answer.ToolCalls)
	blocks := kit.BlocksOfAnswer(answer)
	require.Equal(t, "x_keyword_search", blocks[0].ServerToolCall.Name)
	require.Equal(t, `{"query":"from:xai"}`, blocks[0].ServerToolCall.Arguments)
	require.NotContains(t, next(schema.UserMessage("and?")), "custom_tool_call", "it would want a result")
}

// A server that sends thinking thinks, whatever its model is called.
func TestResponses_ThinkingOfAnyModelIsShownAndSentBack(t *testing.T) {
	raw := `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I call"},{"type":"reasoning_text","text":"it."}]}`
	answer, c, next := answeredBy(t, "https://api.deepseek.com", "deepseek-v4", raw, callItemOne)
	require.NotContains(t, string(c.bodies[0]), "include")
	require.Equal(t, "I call\n\nit.", answer.ReasoningContent)
	require.Contains(t, next(schema.ToolMessage("r", "call_1")),
		`{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"I call"},{"type":"reasoning_text","text":"it."}]}`)

	_, _, next = answeredBy(t, "https://api.x.ai/v1", "grok-4", thoughtItem1, callItemOne)
	sent := next(schema.ToolMessage("r", "call_1"))
	require.Contains(t, sent, `"encrypted_content":"gAAA/+=="`)
	require.Contains(t, sent, `"include":["reasoning.encrypted_content"]`)

	_, _, next = answeredBy(t, "https://api.openai.com", "gpt-4.1", thoughtItem1, callItemOne)
	require.NotContains(t, next(schema.ToolMessage("r", "call_1")), "reasoning", "it is known not to think")
}

func TestResponsesStream_RawThinkingIsShownAsItComes(t *testing.T) {
	delta := func(i, text string) string {
		return `{"type":"response.reasoning_text.delta","output_index":0,"content_index":` + i + `,"delta":"` + text + `"}`
	}
	item := `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I call"},{"type":"reasoning_text","text":"it."}]}`
	end := `{"type":"response.completed","response":{"id":"r","status":"completed","output":[` + item + `,` + textItemHi + `]}}`
	m, err := streamOf(t, delta("0", "I "), delta("0", "call"), delta("1", "it."), end)
	require.NoError(t, err)
	require.Equal(t, "I call\n\nit.", m.ContentBlocks[0].Reasoning.Text)
	whole := answerOf(t, item, textItemHi)
	require.Equal(t, whole.ContentBlocks[0], m.ContentBlocks[0])
}

func TestResponses_BodiesOfAnotherAPIAreAnErrorThatCanBeRetried(t *testing.T) {
	for _, body := range []string{
		`{"id":"1","object":"chat.completion","model":"m","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
		`{"id":"1","model":"m"}`, `{"id":"1","status":"completed"}`, `{"ok":true}`, `[]`,
	} {
		c := &captured{answer: body}
		conf := responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) { conf.HTTPClient = &http.Client{Transport: c} })
		_, err := newResponses(t, conf).Generate(t.Context(), userSays("u"))
		require.ErrorAs(t, err, new(*kit.NoAnswerError), body)
		require.True(t, kit.IsRetryable(err))
	}
}

func TestResponses_SeveralCallsInOneAreUnwrapped(t *testing.T) {
	arguments := `{\"tool_uses\":[{\"recipient_name\":\"functions.f\",\"parameters\":{\"a\":1}},{\"recipient_name\":\"functions.g\",\"parameters\":{}}]}`
	item := func(arguments string) string {
		return `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"parallel","arguments":"` + arguments + `"}`
	}
	m, err := streamOf(t, `{"type":"response.output_item.added","output_index":0,"item":`+item("")+`}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"`+arguments+`"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item(arguments)+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+item(arguments)+`]}}`)
	require.NoError(t, err)
	for _, answer := range []*schema.AgenticMessage{m, answerOf(t, item(arguments))} {
		require.Len(t, answer.ContentBlocks, 2)
		require.Equal(t, &schema.FunctionToolCall{CallID: "call_1", Name: "f", Arguments: `{"a":1}`}, answer.ContentBlocks[0].FunctionToolCall)
		require.Equal(t, &schema.FunctionToolCall{CallID: "call_1_2", Name: "g", Arguments: `{}`}, answer.ContentBlocks[1].FunctionToolCall)
	}
}
