package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/openai"
)

// onePayloadEach returns a block of every type.
func onePayloadEach() []*ContentBlock {
	return []*ContentBlock{
		NewContentBlock(&Reasoning{}),
		NewContentBlock(&UserInputText{}), NewContentBlock(&UserInputImage{}), NewContentBlock(&UserInputAudio{}),
		NewContentBlock(&UserInputVideo{}), NewContentBlock(&UserInputFile{}),
		NewContentBlock(&AssistantGenText{}), NewContentBlock(&AssistantGenImage{}), NewContentBlock(&AssistantGenAudio{}),
		NewContentBlock(&AssistantGenVideo{}),
		NewContentBlock(&FunctionToolCall{}), NewContentBlock(&FunctionToolResult{}),
		NewContentBlock(&ToolSearchFunctionToolResult{}),
		NewContentBlock(&ServerToolCall{}), NewContentBlock(&ServerToolResult{}),
		NewContentBlock(&MCPToolCall{}), NewContentBlock(&MCPToolResult{}), NewContentBlock(&MCPListToolsResult{}),
		NewContentBlock(&MCPToolApprovalRequest{}), NewContentBlock(&MCPToolApprovalResponse{}),
	}
}

// Rule schema/A1.
func TestNewContentBlock_SetsTypeAndPayload(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range onePayloadEach() {
		v := reflect.ValueOf(*b)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type.Kind() != reflect.Pointer || v.Field(i).IsNil() {
				continue
			}
			require.Equal(t, f.Type.Elem().Name(), f.Name)
			require.False(t, seen[f.Name])
			seen[f.Name] = true
			want := strings.TrimSuffix(f.Tag.Get("json"), ",omitempty")
			if f.Name == "ToolSearchFunctionToolResult" {
				want = "tool_search_result"
			}
			require.Equal(t, want, string(b.Type))
		}
		require.NotNil(t, newPayloadJoin(b.Type), b.Type)
		require.NotNil(t, b.payload(), b.Type)
	}
	fields := reflect.TypeFor[ContentBlock]()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Type.Kind() == reflect.Pointer && f.Name != "StreamingMeta" {
			require.True(t, seen[f.Name], "%s has no constructor", f.Name)
		}
	}
	p := &FunctionToolCall{}
	require.Same(t, p, NewContentBlock(p).FunctionToolCall)
	require.Equal(t, &ContentBlock{Type: ContentBlockTypeReasoning}, NewContentBlock[Reasoning](nil))
}

// Rule schema/A2.
func TestNewContentBlockChunk_SetsStreamingMeta(t *testing.T) {
	meta := &StreamingMeta{Index: 2}
	b := NewContentBlockChunk(&Reasoning{Text: "t"}, meta)
	require.Same(t, meta, b.StreamingMeta)
	require.Equal(t, ContentBlockTypeReasoning, b.Type)
	require.Nil(t, NewContentBlockChunk(&Reasoning{}, nil).StreamingMeta)
}

// Rule schema/A3.
func TestAgenticMessage_ConstructorsMakeOneTextBlock(t *testing.T) {
	block := &ContentBlock{Type: ContentBlockTypeUserInputText, UserInputText: &UserInputText{Text: "x"}}
	require.Equal(t, &AgenticMessage{Role: AgenticRoleTypeSystem, ContentBlocks: []*ContentBlock{block}},
		SystemAgenticMessage("x"))
	require.Equal(t, &AgenticMessage{Role: AgenticRoleTypeUser, ContentBlocks: []*ContentBlock{block}},
		UserAgenticMessage("x"))
	result := FunctionToolResultAgenticMessage("id", "tool", "r")
	require.Equal(t, AgenticRoleTypeUser, result.Role)
	require.Equal(t, &FunctionToolResult{CallID: "id", Name: "tool", Content: []*FunctionToolResultContentBlock{
		{Type: FunctionToolResultContentBlockTypeText, Text: &UserInputText{Text: "r"}},
	}}, result.ContentBlocks[0].FunctionToolResult)
}

func TestAgenticMessage_JSON(t *testing.T) {
	data, err := json.Marshal(&AgenticMessage{})
	require.NoError(t, err)
	require.JSONEq(t, `{"role":""}`, string(data))
	m := &AgenticMessage{
		Role: AgenticRoleTypeAssistant,
		ContentBlocks: []*ContentBlock{
			NewContentBlockChunk(&AssistantGenText{Text: "t", OpenAIExtension: &openai.AssistantGenTextExtension{},
				ClaudeExtension: &claude.AssistantGenTextExtension{}}, &StreamingMeta{}),
			NewContentBlock(&UserInputImage{Base64Data: "b", MIMEType: "m"}),
			NewContentBlock(&FunctionToolCall{}), NewContentBlock(&MCPToolApprovalResponse{}),
			NewContentBlock(&MCPListToolsResult{Tools: []*MCPListToolsItem{{}}}),
		},
		ResponseMeta: &AgenticResponseMeta{OpenAIExtension: &openai.ResponseMetaExtension{ID: "i"}},
	}
	data, err = json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"role": "assistant",
		"content_blocks": [
			{"type": "assistant_gen_text", "assistant_gen_text": {"text": "t", "openai_extension": {}, "claude_extension": {}}, "streaming_meta": {"index": 0}},
			{"type": "user_input_image", "user_input_image": {"base64_data": "b", "mime_type": "m"}},
			{"type": "function_tool_call", "function_tool_call": {"name": ""}},
			{"type": "mcp_tool_approval_response", "mcp_tool_approval_response": {"approve": false}},
			{"type": "mcp_list_tools_result", "mcp_list_tools_result": {"tools": [{"name": "", "description": ""}]}}
		],
		"response_meta": {"openai_extension": {"id": "i"}}
	}`, string(data))
	var back AgenticMessage
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, m, &back)
}
