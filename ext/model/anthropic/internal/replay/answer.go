package replay

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

type object = map[string]any

// answer holds the content of a recorded response, read in the simplest way: the blocks as they are when they have
// ended.
type answer struct {
	id, model, finish string
	blocks            []object
	usage             object
}

// frameBytes finds the payload in the frames of a binary event stream.
var frameBytes = regexp.MustCompile(`"bytes":"([A-Za-z0-9+/=]*)"`)

func parseAnswer(t *testing.T, i *kittest.Interaction) *answer {
	a := &answer{usage: object{}}
	body := string(i.Response.Body)
	if frames := frameBytes.FindAllStringSubmatch(body, -1); frames != nil {
		for _, f := range frames {
			data, err := base64.StdEncoding.DecodeString(f[1])
			require.NoError(t, err)
			a.event(t, decode(t, string(data)))
		}
		return a
	}
	if !strings.Contains(body, "data: ") {
		o := decode(t, body)
		a.message(o)
		for _, b := range o["content"].([]any) {
			a.blocks = append(a.blocks, b.(object))
		}
		return a
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			a.event(t, decode(t, data))
		}
	}
	return a
}

func decode(t *testing.T, data string) (o object) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(data), &o), data)
	return o
}

func (a *answer) message(o object) {
	if id, ok := o["id"].(string); ok {
		a.id, a.model = id, o["model"].(string)
	}
	if reason, ok := o["stop_reason"].(string); ok {
		a.finish = reason
	}
	if usage, ok := o["usage"].(object); ok {
		for key, value := range usage {
			a.usage[key] = value
		}
	}
}

func (a *answer) event(t *testing.T, o object) {
	switch o["type"] {
	case "message_start":
		a.message(o["message"].(object))
	case "message_delta":
		a.message(o)
		a.message(o["delta"].(object))
	case "content_block_start":
		require.Len(t, a.blocks, int(o["index"].(float64)))
		a.blocks = append(a.blocks, o["content_block"].(object))
	case "content_block_delta":
		b, d := a.blocks[int(o["index"].(float64))], o["delta"].(object)
		for from, to := range map[string]string{"text": "text", "thinking": "thinking", "signature": "signature"} {
			if more, ok := d[from].(string); ok {
				b[to] = b[to].(string) + more
			}
		}
		if more, ok := d["partial_json"].(string); ok {
			before, _ := b["partial"].(string)
			b["partial"] = before + more
		}
	case "content_block_stop":
		b := a.blocks[int(o["index"].(float64))]
		if partial, _ := b["partial"].(string); partial != "" {
			b["input"] = decode(t, partial)
		}
		delete(b, "partial")
	}
}

func (a *answer) number(key string) int {
	n, _ := a.usage[key].(float64)
	return int(n)
}

// require compares an answer with the recorded one.
func (a *answer) require(t *testing.T, got *schema.AgenticMessage, system string) {
	t.Helper()
	require.Equal(t, schema.AgenticRoleTypeAssistant, got.Role)
	require.Len(t, got.ContentBlocks, len(a.blocks))
	for i, want := range a.blocks {
		require.Nil(t, got.ContentBlocks[i].StreamingMeta)
		requireBlock(t, want, got.ContentBlocks[i])
	}
	require.Equal(t, a.id, got.ResponseMeta.ID)
	require.Equal(t, a.model, got.ResponseMeta.Model)
	require.Equal(t, system, got.ResponseMeta.Provider)
	require.Equal(t, a.id, got.ResponseMeta.ClaudeExtension.ID)
	require.Equal(t, a.finish, got.ResponseMeta.ClaudeExtension.StopReason)
	require.Equal(t, a.finish, got.Extra["finish_reason"])
	read, written := a.number("cache_read_input_tokens"), a.number("cache_creation_input_tokens")
	usage := got.ResponseMeta.TokenUsage
	require.Equal(t, a.number("input_tokens")+read+written, usage.PromptTokens)
	require.Equal(t, a.number("output_tokens"), usage.CompletionTokens)
	require.Equal(t, schema.PromptTokenDetails{CachedTokens: read, CacheWriteTokens: written}, usage.PromptTokenDetails)
	require.Empty(t, kit.CheckUsage(usage))
	require.Equal(t, a.usage, decode(t, got.Extra[kit.UsageRawKey].(string)))
}

func requireBlock(t *testing.T, want object, got *schema.ContentBlock) {
	t.Helper()
	switch want["type"] {
	case "text":
		require.Equal(t, want["text"], got.AssistantGenText.Text)
		if cited, ok := want["citations"].([]any); ok {
			require.Len(t, got.AssistantGenText.ClaudeExtension.Citations, len(cited))
			for i, c := range cited {
				location := got.AssistantGenText.ClaudeExtension.Citations[i].WebSearchResultLocation
				require.Equal(t, c.(object)["encrypted_index"], location.EncryptedIndex)
				require.Equal(t, c.(object)["cited_text"], location.CitedText)
			}
		}
	case "thinking":
		require.Equal(t, &schema.Reasoning{
			Text: want["thinking"].(string), Signature: want["signature"].(string),
		}, got.Reasoning)
	case "tool_use":
		require.Equal(t, want["id"], got.FunctionToolCall.CallID)
		require.Equal(t, want["name"], got.FunctionToolCall.Name)
		require.Equal(t, want["input"], decode(t, got.FunctionToolCall.Arguments))
	case "server_tool_use":
		require.Equal(t, &schema.ServerToolCall{
			Name: want["name"].(string), CallID: want["id"].(string), Arguments: want["input"],
		}, got.ServerToolCall)
		require.Equal(t, want, decode(t, got.Extra[anthropic.RawBlockKey].(string)))
	case "web_search_tool_result":
		require.Equal(t, want["tool_use_id"], got.ServerToolResult.CallID)
		require.Len(t, got.ServerToolResult.Content, len(want["content"].([]any)))
		require.Equal(t, want, decode(t, got.Extra[anthropic.RawBlockKey].(string)))
	default:
		t.Fatalf("block of type %v", want["type"])
	}
}

// requireChat compares the answer of a chat model with the recorded one.
func (a *answer) requireChat(t *testing.T, got *schema.Message, system string) {
	t.Helper()
	require.Equal(t, schema.Assistant, got.Role)
	text, thought := "", ""
	var calls []object
	for _, b := range a.blocks {
		switch b["type"] {
		case "text":
			text += b["text"].(string)
		case "thinking":
			thought += b["thinking"].(string)
		case "tool_use":
			calls = append(calls, b)
		}
	}
	require.Equal(t, text, got.Content)
	require.Equal(t, thought, got.ReasoningContent)
	require.Len(t, got.ToolCalls, len(calls))
	for i, c := range calls {
		require.Equal(t, c["id"], got.ToolCalls[i].ID)
		require.Equal(t, c["name"], got.ToolCalls[i].Function.Name)
		require.Equal(t, c["input"], decode(t, got.ToolCalls[i].Function.Arguments))
	}
	require.Equal(t, a.finish, got.ResponseMeta.FinishReason)
	require.Equal(t, a.number("output_tokens"), got.ResponseMeta.Usage.CompletionTokens)
	require.Equal(t, system, got.ResponseMeta.Provider)
	whole := &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: kit.BlocksOfAnswer(got), Extra: got.Extra,
	}
	require.Len(t, whole.ContentBlocks, len(a.blocks))
	for i, want := range a.blocks {
		requireBlock(t, want, whole.ContentBlocks[i])
	}
}
