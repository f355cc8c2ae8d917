package schema

import (
	"encoding"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func pointer[T any](v T) *T { return &v }

// Rule schema/M1.
func TestMessage_ConstructorsSetOnlyWhatIsGiven(t *testing.T) {
	require.Equal(t, &Message{Role: System, Content: "s"}, SystemMessage("s"))
	require.Equal(t, &Message{Role: User, Content: "u"}, UserMessage("u"))
	calls := []ToolCall{{ID: "1"}}
	m := AssistantMessage("a", calls)
	require.Equal(t, &Message{Role: Assistant, Content: "a", ToolCalls: calls}, m)
	require.Same(t, &calls[0], &m.ToolCalls[0])
	require.Nil(t, AssistantMessage("a", nil).ToolCalls)
	require.Equal(t, &Message{Role: Tool, Content: "r", ToolCallID: "id"}, ToolMessage("r", "id"))
	require.Equal(t, &Message{Role: Tool, Content: "r", ToolCallID: "id", ToolName: "second"},
		ToolMessage("r", "id", WithToolName("first"), WithToolName("second")))
}

// Rules schema/M2, schema/M3.
func TestMessage_KeepsItsJSONNames(t *testing.T) {
	data, err := json.Marshal(&Message{})
	require.NoError(t, err)
	require.JSONEq(t, `{"role":"","content":""}`, string(data))

	m := &Message{
		Role: Assistant,
		UserInputMultiContent: []MessageInputPart{{
			Type: ChatMessagePartTypeImageURL,
			Image: &MessageInputImage{MessagePartCommon: MessagePartCommon{URL: pointer("u"), Base64Data: pointer("b"),
				MIMEType: "m"}, Detail: ImageURLDetailLow},
		}},
		AssistantGenMultiContent: []MessageOutputPart{{
			Type: ChatMessagePartTypeText, Text: "t", StreamingMeta: &MessageStreamingMeta{Index: 3},
		}},
		ToolCalls: []ToolCall{{Index: pointer(0), ID: "i"}},
		ResponseMeta: &ResponseMeta{
			Usage:    &TokenUsage{PromptTokens: 1},
			LogProbs: &LogProbs{Content: []LogProb{{Token: "a"}}},
		},
	}
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"role": "assistant", "content": "",
		"user_input_multi_content": [{"type": "image_url", "image": {"url": "u", "base64data": "b", "mime_type": "m", "detail": "low"}}],
		"assistant_output_multi_content": [{"type": "text", "text": "t"}],
		"tool_calls": [{"index": 0, "id": "i", "type": "", "function": {}}],
		"response_meta": {
			"usage": {"prompt_tokens": 1, "prompt_token_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "completion_tokens": 0, "total_tokens": 0, "completion_token_details": {}},
			"logprobs": {"content": [{"token": "a", "logprob": 0, "top_logprobs": null}]}
		}
	}`, string(data))
	var back Message
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, 0, *back.ToolCalls[0].Index)
	require.Equal(t, "u", *back.UserInputMultiContent[0].Image.URL)
}

// A message is encoded by its fields alone.
// Rule schema/M3.
func TestMessage_IsAPlainStruct(t *testing.T) {
	for _, v := range []any{Message{}, &Message{}, ToolCall{}, &ToolCall{}} {
		for name, own := range map[string]bool{
			"MarshalJSON": is[json.Marshaler](v), "UnmarshalJSON": is[json.Unmarshaler](v), "GobEncode": is[gob.GobEncoder](v),
			"GobDecode":   is[gob.GobDecoder](v),
			"MarshalText": is[encoding.TextMarshaler](v), "MarshalBinary": is[encoding.BinaryMarshaler](v),
		} {
			require.False(t, own, "%T has %s", v, name)
		}
	}
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// Rule schema/M4.
func TestMessage_StringShowsEachPieceInOrder(t *testing.T) {
	require.Equal(t, "user: hi", UserMessage("hi").String())
	require.Equal(t, ": ", (&Message{}).String())
	require.Equal(t, "", (*Message)(nil).String())

	call := ToolCall{ID: "c1", Type: "function", Function: FunctionCall{Name: "f", Arguments: "{}"},
		Extra: map[string]any{"k": 1}}
	usage := &TokenUsage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}
	m := &Message{
		Role: Assistant, Content: "text", ReasoningContent: "because",
		ToolCalls: []ToolCall{call, {ID: "c2"}}, ToolCallID: "id", ToolName: "tool",
		ResponseMeta:          &ResponseMeta{FinishReason: "stop", Usage: usage},
		UserInputMultiContent: []MessageInputPart{{Type: ChatMessagePartTypeText, Text: "in"}},
		AssistantGenMultiContent: []MessageOutputPart{{Type: ChatMessagePartTypeText, Text: "out"},
			{Type: ChatMessagePartTypeReasoning}},
		MultiContent: []ChatMessagePart{{Type: ChatMessagePartTypeText, Text: "old"}},
	}
	require.Equal(t, strings.Join([]string{
		"assistant: text",
		"user_input_multi_content:",
		"  [0] text: in",
		"assistant_gen_multi_content:",
		"  [0] text: out",
		"  [1] unknown type: reasoning",
		"multi_content:",
		"  [0] text: old",
		"reasoning content:",
		"because",
		"tool_calls:",
		"{Index:<nil> ID:c1 Type:function Function:{Name:f Arguments:{}} Extra:map[k:1]}",
		"{Index:<nil> ID:c2 Type: Function:{Name: Arguments:} Extra:map[]}",
		"",
		"tool_call_id: id",
		"tool_call_name: tool",
		"finish_reason: stop",
		"usage: &{1 {0} 2 3 {0}}",
	}, "\n"), m.String())

	indexed := ToolCall{Index: pointer(4), ID: "c"}
	require.Equal(t, fmt.Sprintf("assistant: \ntool_calls:\nindex[4]:%+v\n", indexed),
		AssistantMessage("", []ToolCall{indexed}).String())
	require.Equal(t, "assistant: \nfinish_reason: ", (&Message{Role: Assistant, ResponseMeta: &ResponseMeta{}}).String())
}

// Rule schema/M5.
func TestMessage_StringShowsPartsWithoutTheirData(t *testing.T) {
	media := MessagePartCommon{URL: pointer("u"), Base64Data: pointer("QUJD"), MIMEType: "m/t",
		Extra: map[string]any{"k": 1}}
	const all = "url=u, base64[4 bytes], mime=m/t, extra=map[k:1]"
	m := &Message{
		Role: User,
		UserInputMultiContent: []MessageInputPart{
			{Type: ChatMessagePartTypeImageURL, Image: &MessageInputImage{MessagePartCommon: media, Detail: ImageURLDetailHigh}},
			{Type: ChatMessagePartTypeAudioURL, Audio: &MessageInputAudio{media}},
			{Type: ChatMessagePartTypeVideoURL, Video: &MessageInputVideo{media}},
			{Type: ChatMessagePartTypeFileURL, File: &MessageInputFile{MessagePartCommon: media, Name: "n"}},
			{Type: ChatMessagePartTypeImageURL},
			{Type: ChatMessagePartTypeAudioURL},
			{Type: ChatMessagePartTypeVideoURL},
			{Type: ChatMessagePartTypeFileURL, File: &MessageInputFile{}},
			{Type: ChatMessagePartTypeToolSearchResult},
			{Type: ""},
		},
		AssistantGenMultiContent: []MessageOutputPart{
			{Type: ChatMessagePartTypeImageURL, Image: &MessageOutputImage{media}},
			{Type: ChatMessagePartTypeAudioURL, Audio: &MessageOutputAudio{MessagePartCommon{Base64Data: pointer("")}}},
			{Type: ChatMessagePartTypeVideoURL, Video: &MessageOutputVideo{MessagePartCommon{MIMEType: "v"}}},
			{Type: ChatMessagePartTypeVideoURL},
			{Type: ChatMessagePartTypeFileURL},
		},
		MultiContent: []ChatMessagePart{
			{Type: ChatMessagePartTypeImageURL, ImageURL: &ChatMessageImageURL{URL: "iu", URI: "no"}},
			{Type: ChatMessagePartTypeAudioURL, AudioURL: &ChatMessageAudioURL{URL: "au"}},
			{Type: ChatMessagePartTypeVideoURL, VideoURL: &ChatMessageVideoURL{URL: "vu"}},
			{Type: ChatMessagePartTypeFileURL, FileURL: &ChatMessageFileURL{URL: "fu"}},
			{Type: ChatMessagePartTypeImageURL}, {Type: ChatMessagePartTypeAudioURL},
			{Type: ChatMessagePartTypeVideoURL}, {Type: ChatMessagePartTypeFileURL}, {Type: "x"},
		},
	}
	require.Equal(t, strings.Join([]string{
		"user: ",
		"user_input_multi_content:",
		"  [0] image: url=u, base64[4 bytes], mime=m/t, detail=high, extra=map[k:1]",
		"  [1] audio: " + all,
		"  [2] video: " + all,
		"  [3] file: url=u, base64[4 bytes], mime=m/t, name=n, extra=map[k:1]",
		"  [4] image: <nil>",
		"  [5] audio: <nil>",
		"  [6] video: <nil>",
		"  [7] file: <empty>",
		"  [8] unknown type: tool_search_result",
		"  [9] unknown type: ",
		"assistant_gen_multi_content:",
		"  [0] image: " + all,
		"  [1] audio: base64[0 bytes]",
		"  [2] video: mime=v",
		"  [3] video: <nil>",
		"  [4] unknown type: file_url",
		"multi_content:",
		"  [0] image_url: iu",
		"  [1] audio_url: au",
		"  [2] video_url: vu",
		"  [3] file_url: fu",
		"  [4] image_url: <nil>",
		"  [5] audio_url: <nil>",
		"  [6] video_url: <nil>",
		"  [7] file_url: <nil>",
		"  [8] unknown type: x",
	}, "\n"), m.String())
}
