package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/gemini"
	"github.com/weftgo/weft/schema/openai"
)

func mustConcatAgentic(t *testing.T, msgs ...*AgenticMessage) *AgenticMessage {
	t.Helper()
	m, err := ConcatAgenticMessages(msgs)
	require.NoError(t, err)
	return m
}

func agenticError(t *testing.T, msgs ...*AgenticMessage) string {
	t.Helper()
	m, err := ConcatAgenticMessages(msgs)
	require.Error(t, err)
	require.Nil(t, m)
	return err.Error()
}

// chunk is a message with one streamed block.
func chunk[T contentBlockVariant](index int, payload *T) *AgenticMessage {
	return &AgenticMessage{ContentBlocks: []*ContentBlock{NewContentBlockChunk(payload, &StreamingMeta{Index: index})}}
}

// Rules schema/A10, schema/B15.3.13.
func TestConcatAgentic_ReturnsASingleMessageItself(t *testing.T) {
	require.Equal(t, &AgenticMessage{}, mustConcatAgentic(t))
	one := chunk(3, &Reasoning{Text: "t"})
	one.ContentBlocks = append(one.ContentBlocks, NewContentBlock(&Reasoning{})) // mixed, but not checked
	require.Same(t, one, mustConcatAgentic(t, one))
	require.NotNil(t, one.ContentBlocks[0].StreamingMeta)
	require.Equal(t, "message at index 0 is nil", agenticError(t, nil))
}

// Rule schema/A11.
func TestConcatAgentic_RefusesNilMessagesAndDifferentRoles(t *testing.T) {
	require.Equal(t, "message at index 1 is nil", agenticError(t, &AgenticMessage{}, nil))
	require.Equal(t, "cannot concat messages with different roles: got 'user' and 'system'",
		agenticError(t, &AgenticMessage{Role: AgenticRoleTypeUser}, &AgenticMessage{},
			&AgenticMessage{Role: AgenticRoleTypeSystem}))
	got := mustConcatAgentic(t, &AgenticMessage{}, &AgenticMessage{Role: AgenticRoleTypeUser}, &AgenticMessage{})
	require.Equal(t, &AgenticMessage{Role: AgenticRoleTypeUser}, got)
}

// Rules schema/A12, schema/A13.
func TestConcatAgentic_AppendsWholeBlocksAndRefusesAMixture(t *testing.T) {
	a, b := NewContentBlock(&AssistantGenText{Text: "a"}), NewContentBlock(&AssistantGenText{Text: "b"})
	got := mustConcatAgentic(t, &AgenticMessage{ContentBlocks: []*ContentBlock{a, nil, b}},
		&AgenticMessage{ContentBlocks: []*ContentBlock{nil, a}})
	require.Len(t, got.ContentBlocks, 3)
	require.Same(t, a, got.ContentBlocks[0])
	require.Same(t, b, got.ContentBlocks[1])
	require.Same(t, a, got.ContentBlocks[2])

	whole := &AgenticMessage{ContentBlocks: []*ContentBlock{nil, a}}
	streamed := chunk(0, &AssistantGenText{Text: "s"})
	require.Equal(t, "found streaming block after non-streaming blocks", agenticError(t, whole, streamed))
	require.Equal(t, "found non-streaming block after streaming blocks", agenticError(t, streamed, whole))
	both := &AgenticMessage{ContentBlocks: []*ContentBlock{streamed.ContentBlocks[0], a}}
	require.Equal(t, "found non-streaming block after streaming blocks", agenticError(t, both, &AgenticMessage{}))
}

// Rule schema/A14.
func TestConcatAgentic_JoinsStreamedBlocksByIndex(t *testing.T) {
	first := chunk(7, &AssistantGenText{Text: "7"})
	got := mustConcatAgentic(t, first, chunk(-1, &AssistantGenText{Text: "a"}), chunk(3, &Reasoning{Text: "r"}),
		chunk(-1, &AssistantGenText{Text: "b"}))
	require.Equal(t, []*ContentBlock{
		NewContentBlock(&AssistantGenText{Text: "ab"}), NewContentBlock(&Reasoning{Text: "r"}),
		NewContentBlock(&AssistantGenText{Text: "7"}),
	}, got.ContentBlocks)
	require.NotNil(t, first.ContentBlocks[0].StreamingMeta)
	require.Same(t, first.ContentBlocks[0].AssistantGenText, got.ContentBlocks[2].AssistantGenText)
}

// Rule schema/A15.
func TestConcatAgentic_JoinsExtra(t *testing.T) {
	require.Nil(t, mustConcatAgentic(t, &AgenticMessage{}, &AgenticMessage{}).Extra)
	only := map[string]any{"k": 1}
	got := mustConcatAgentic(t, &AgenticMessage{Extra: only}, &AgenticMessage{})
	require.Equal(t, only, got.Extra)
	got.Extra["new"] = 1
	require.Len(t, only, 1)
	got = mustConcatAgentic(t, &AgenticMessage{Extra: map[string]any{"s": "a"}},
		&AgenticMessage{Extra: map[string]any{"s": "b", "n": nil}})
	require.Equal(t, map[string]any{"s": "ab", "n": nil}, got.Extra)
	require.Equal(t, "unexpected slice element type. Got int, expected string, key: k",
		agenticError(t, &AgenticMessage{Extra: map[string]any{"k": "a"}}, &AgenticMessage{Extra: map[string]any{"k": 1}}))
}

func meta(m AgenticResponseMeta) *AgenticMessage { return &AgenticMessage{ResponseMeta: &m} }

type extensionText string

// Rule schema/A16.
func TestConcatAgentic_JoinsResponseMeta(t *testing.T) {
	concat.Register(func(items []extensionText) (extensionText, error) {
		joined := extensionText("")
		for _, s := range items {
			joined += s
		}
		return joined, nil
	})
	require.Nil(t, mustConcatAgentic(t, &AgenticMessage{}, &AgenticMessage{}).ResponseMeta)
	usage := &TokenUsage{PromptTokens: 4, TotalTokens: 1}
	got := mustConcatAgentic(t, meta(AgenticResponseMeta{TokenUsage: usage}), &AgenticMessage{},
		meta(AgenticResponseMeta{TokenUsage: &TokenUsage{TotalTokens: 9}}))
	require.Equal(t, &AgenticResponseMeta{TokenUsage: &TokenUsage{PromptTokens: 4, TotalTokens: 9}}, got.ResponseMeta)
	require.Equal(t, 1, usage.TotalTokens)

	for _, tt := range []struct {
		a, b, want AgenticResponseMeta
	}{
		{AgenticResponseMeta{Extension: extensionText("a")}, AgenticResponseMeta{Extension: extensionText("b")},
			AgenticResponseMeta{Extension: extensionText("ab")}},
		{AgenticResponseMeta{Extension: unknownExtra{1}}, AgenticResponseMeta{Extension: unknownExtra{}},
			AgenticResponseMeta{Extension: unknownExtra{1}}},
		{AgenticResponseMeta{Extension: map[string]any{"a": "1"}}, AgenticResponseMeta{Extension: map[string]any{"a": "2"}},
			AgenticResponseMeta{Extension: map[string]any{"a": "12"}}},
		{
			AgenticResponseMeta{OpenAIExtension: &openai.ResponseMetaExtension{ID: "i"}},
			AgenticResponseMeta{OpenAIExtension: &openai.ResponseMetaExtension{Status: openai.ResponseStatusCompleted}},
			AgenticResponseMeta{OpenAIExtension: &openai.ResponseMetaExtension{ID: "i", Status: openai.ResponseStatusCompleted}},
		},
		{
			AgenticResponseMeta{ClaudeExtension: &claude.ResponseMetaExtension{ID: "i"}},
			AgenticResponseMeta{ClaudeExtension: &claude.ResponseMetaExtension{StopReason: "s"}},
			AgenticResponseMeta{ClaudeExtension: &claude.ResponseMetaExtension{ID: "i", StopReason: "s"}},
		},
		{
			AgenticResponseMeta{GeminiExtension: &gemini.ResponseMetaExtension{ID: "i"}},
			AgenticResponseMeta{GeminiExtension: &gemini.ResponseMetaExtension{FinishReason: "s"}},
			AgenticResponseMeta{GeminiExtension: &gemini.ResponseMetaExtension{ID: "i", FinishReason: "s"}},
		},
	} {
		require.Equal(t, &tt.want, mustConcatAgentic(t, meta(tt.a), &AgenticMessage{}, meta(tt.b)).ResponseMeta)
	}

	const prefix = "failed to concat agentic response meta: "
	require.Equal(t,
		prefix+
			"inconsistent extension types in response meta chunks: '*openai.ResponseMetaExtension' vs '*claude.ResponseMetaExtension'",
		agenticError(t, meta(AgenticResponseMeta{OpenAIExtension: &openai.ResponseMetaExtension{}}),
			meta(AgenticResponseMeta{ClaudeExtension: &claude.ResponseMetaExtension{}})))
	require.Equal(t, prefix+"inconsistent extension types in response meta chunks: 'string' vs 'int'",
		agenticError(t, meta(AgenticResponseMeta{Extension: "a"}), meta(AgenticResponseMeta{Extension: 1})))
	require.Equal(t,
		prefix+"failed to concat extensions: cannot concat multiple non-zero value of type schema.unknownExtra",
		agenticError(t, meta(AgenticResponseMeta{Extension: unknownExtra{1}}),
			meta(AgenticResponseMeta{Extension: unknownExtra{2}})))
}

// Rules schema/A17, schema/B15.3.13.
func TestConcatAgenticArray_JoinsPositionByPosition(t *testing.T) {
	a, b, c := UserAgenticMessage("a"), UserAgenticMessage("b"), SystemAgenticMessage("c")
	got, err := ConcatAgenticMessagesArray([][]*AgenticMessage{{a, nil, nil}, {b, c, nil}})
	require.NoError(t, err)
	require.Len(t, got[0].ContentBlocks, 2)
	require.Same(t, c, got[1])
	require.Nil(t, got[2])
	_, err = ConcatAgenticMessagesArray([][]*AgenticMessage{{a}, {}})
	require.EqualError(t, err, "unexpected array length. Got 0, expected 1")
	got, err = ConcatAgenticMessagesArray(nil)
	require.NoError(t, err)
	require.Nil(t, got)
}

// Rules schema/A20, schema/B15.3.12.
func TestConcatAgentic_RefusesBlocksThatDoNotFitTogether(t *testing.T) {
	require.Equal(t, "content block type mismatch: expected 'reasoning', but got 'assistant_gen_text'",
		agenticError(t, chunk(0, &Reasoning{}), chunk(0, &AssistantGenText{})))
	require.Equal(t, "'function_tool_call' content is nil",
		agenticError(t, chunk[FunctionToolCall](0, nil), &AgenticMessage{}))
	unknown := &AgenticMessage{ContentBlocks: []*ContentBlock{{Type: "new", StreamingMeta: &StreamingMeta{}}}}
	require.Equal(t, "unknown content block type: new", agenticError(t, unknown, &AgenticMessage{}))

	a, b := chunk(0, &AssistantGenText{}), chunk(0, &AssistantGenText{})
	a.ContentBlocks[0].Extra, b.ContentBlocks[0].Extra = map[string]any{"k": "1"}, map[string]any{"k": "2"}
	require.Equal(t, map[string]any{"k": "12"}, mustConcatAgentic(t, a, b).ContentBlocks[0].Extra)
	b.ContentBlocks[0].Extra["k"] = 2
	require.Equal(t,
		"failed to concat content block extras: unexpected slice element type. Got int, expected string, key: k",
		agenticError(t, a, b))
	a.ContentBlocks[0].Extra, b.ContentBlocks[0].Extra = map[string]any{}, nil
	require.Nil(t, mustConcatAgentic(t, a, b).ContentBlocks[0].Extra)

	// The first in order of arrival is reported, not the one of the lowest index.
	require.Contains(t, agenticError(t,
		chunk(9, &FunctionToolCall{Name: "a"}), chunk(1, &FunctionToolCall{Name: "c"}),
		chunk(9, &FunctionToolCall{Name: "b"}), chunk(1, &FunctionToolCall{Name: "d"})), "expected tool name 'a'")
}

// Every type of block, one chunk and several.
// Rules schema/A21, schema/B15.3.6.
func TestConcatAgentic_JoinsEveryKindOfPayload(t *testing.T) {
	for _, b := range onePayloadEach() {
		streamed := *b
		streamed.StreamingMeta = &StreamingMeta{Index: 5}
		got := mustConcatAgentic(t, &AgenticMessage{ContentBlocks: []*ContentBlock{&streamed}},
			&AgenticMessage{}).ContentBlocks[0]
		require.Equal(t, b, got)
		want, have := reflect.ValueOf(b.payload()).Pointer(), reflect.ValueOf(got.payload()).Pointer()
		require.Equal(t, b.Type != ContentBlockTypeReasoning, want == have, b.Type)
	}

	code := int64(3)
	tool, other := &MCPListToolsItem{Name: "1"}, &MCPListToolsItem{Name: "2"}
	part := &FunctionToolResultContentBlock{Type: FunctionToolResultContentBlockTypeText, Text: &UserInputText{Text: "t"}}
	for _, tt := range []struct {
		a, b *AgenticMessage
		want *ContentBlock
	}{
		{
			chunk(0, &Reasoning{Text: "a", Signature: "1",
				OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{Index: pointer(0), Text: "x"}}}}),
			chunk(0, &Reasoning{Text: "b", Signature: "2",
				OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{Index: pointer(0), Text: "y"}}}}),
			NewContentBlock(&Reasoning{Text: "ab", Signature: "12",
				OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{Text: "xy"}}}}),
		},
		{chunk(0, &AssistantGenText{Text: "a", Extension: "1"}), chunk(0, &AssistantGenText{Text: "b", Extension: "2"}),
			NewContentBlock(&AssistantGenText{Text: "ab", Extension: "12"})},
		{
			chunk(0, &AssistantGenText{Text: "a",
				OpenAIExtension: &openai.AssistantGenTextExtension{Refusal: &openai.OutputRefusal{Reason: "1"}}}),
			chunk(0,
				&AssistantGenText{OpenAIExtension: &openai.AssistantGenTextExtension{Refusal: &openai.OutputRefusal{Reason: "2"}}}),
			NewContentBlock(&AssistantGenText{Text: "a",
				OpenAIExtension: &openai.AssistantGenTextExtension{Refusal: &openai.OutputRefusal{Reason: "12"},
					Annotations: []*openai.TextAnnotation{}}}),
		},
		{
			chunk(0,
				&AssistantGenText{ClaudeExtension: &claude.AssistantGenTextExtension{Citations: []*claude.TextCitation{{Type: "1"}}}}),
			chunk(0,
				&AssistantGenText{ClaudeExtension: &claude.AssistantGenTextExtension{Citations: []*claude.TextCitation{{Type: "2"}}}}),
			NewContentBlock(&AssistantGenText{ClaudeExtension: &claude.AssistantGenTextExtension{Citations: []*claude.TextCitation{{Type: "1"}, {Type: "2"}}}}),
		},
		{chunk(0, &AssistantGenImage{Base64Data: "a", URL: "u"}),
			chunk(0, &AssistantGenImage{Base64Data: "b", MIMEType: "m"}),
			NewContentBlock(&AssistantGenImage{Base64Data: "ab", URL: "u", MIMEType: "m"})},
		{chunk(0, &AssistantGenAudio{Base64Data: "a", URL: "u"}),
			chunk(0, &AssistantGenAudio{Base64Data: "b", MIMEType: "m"}),
			NewContentBlock(&AssistantGenAudio{Base64Data: "ab", URL: "u", MIMEType: "m"})},
		{chunk(0, &AssistantGenVideo{Base64Data: "a", URL: "u"}),
			chunk(0, &AssistantGenVideo{Base64Data: "b", MIMEType: "m"}),
			NewContentBlock(&AssistantGenVideo{Base64Data: "ab", URL: "u", MIMEType: "m"})},
		{chunk(0, &FunctionToolCall{CallID: "i", Arguments: "a"}),
			chunk(0, &FunctionToolCall{Name: "n", CallID: "i", Arguments: "b"}),
			NewContentBlock(&FunctionToolCall{CallID: "i", Name: "n", Arguments: "ab"})},
		{
			chunk(0, &FunctionToolResult{CallID: "i", Content: []*FunctionToolResultContentBlock{part, nil}}),
			chunk(0, &FunctionToolResult{Name: "n", Content: []*FunctionToolResultContentBlock{part}}),
			NewContentBlock(&FunctionToolResult{CallID: "i", Name: "n", Content: []*FunctionToolResultContentBlock{part, part}}),
		},
		{chunk(0, &ServerToolCall{Name: "n", Arguments: "a"}), chunk(0, &ServerToolCall{CallID: "i", Arguments: "b"}),
			NewContentBlock(&ServerToolCall{Name: "n", CallID: "i", Arguments: "ab"})},
		{chunk(0, &ServerToolCall{Arguments: map[string]any{"q": "a"}}),
			chunk(0, &ServerToolCall{Arguments: map[string]any{"q": "b"}}),
			NewContentBlock(&ServerToolCall{Arguments: map[string]any{"q": "ab"}})},
		{chunk(0, &ServerToolCall{Arguments: nil}), chunk(0, &ServerToolCall{Arguments: unknownExtra{1}}),
			NewContentBlock(&ServerToolCall{Arguments: unknownExtra{1}})},
		{chunk(0, &ServerToolResult{Name: "n", Content: "a"}), chunk(0, &ServerToolResult{CallID: "i", Content: "b"}),
			NewContentBlock(&ServerToolResult{Name: "n", CallID: "i", Content: "ab"})},
		{chunk(0, &ServerToolResult{}), chunk(0, &ServerToolResult{}), NewContentBlock(&ServerToolResult{})},
		{
			chunk(0, &MCPToolCall{ServerLabel: "s", ApprovalRequestID: "r", Arguments: "a"}),
			chunk(0, &MCPToolCall{CallID: "i", Name: "n", Arguments: "b"}),
			NewContentBlock(&MCPToolCall{ServerLabel: "s", ApprovalRequestID: "r", CallID: "i", Name: "n", Arguments: "ab"}),
		},
		{
			chunk(0, &MCPToolResult{ServerLabel: "s", Content: "old", Error: &MCPToolCallError{Message: "old"}}),
			chunk(0, &MCPToolResult{CallID: "i", Name: "n", Content: "new", Error: &MCPToolCallError{Code: &code}}),
			NewContentBlock(&MCPToolResult{ServerLabel: "s", CallID: "i", Name: "n", Content: "new",
				Error: &MCPToolCallError{Code: &code}}),
		},
		{chunk(0, &MCPToolResult{Content: "old"}), chunk(0, &MCPToolResult{}),
			NewContentBlock(&MCPToolResult{Content: "old"})},
		{
			chunk(0, &MCPListToolsResult{ServerLabel: "s", Tools: []*MCPListToolsItem{tool}, Error: "old"}),
			chunk(0, &MCPListToolsResult{Tools: []*MCPListToolsItem{other}, Error: "new"}),
			NewContentBlock(&MCPListToolsResult{ServerLabel: "s", Tools: []*MCPListToolsItem{tool, other}, Error: "new"}),
		},
		{
			chunk(0, &MCPToolApprovalRequest{ID: "i", Arguments: "a"}),
			chunk(0, &MCPToolApprovalRequest{Name: "n", ServerLabel: "s", Arguments: "b"}),
			NewContentBlock(&MCPToolApprovalRequest{ID: "i", Name: "n", ServerLabel: "s", Arguments: "ab"}),
		},
	} {
		a, b := fmt.Sprintf("%#v", *tt.a.ContentBlocks[0]), fmt.Sprintf("%#v", *tt.b.ContentBlocks[0])
		require.Equal(t, []*ContentBlock{tt.want}, mustConcatAgentic(t, tt.a, tt.b).ContentBlocks)
		require.Equal(t, a, fmt.Sprintf("%#v", *tt.a.ContentBlocks[0]))
		require.Equal(t, b, fmt.Sprintf("%#v", *tt.b.ContentBlocks[0]))
	}
}

// Rule schema/A21.
func TestConcatAgentic_NamesTheConflictInAPayload(t *testing.T) {
	for _, tt := range []struct {
		a, b *AgenticMessage
		kind ContentBlockType
		want string
	}{
		{chunk(0, &UserInputText{}), chunk(0, &UserInputText{}), "user_input_text",
			"cannot concat multiple user input texts"},
		{chunk(0, &UserInputImage{}), chunk(0, &UserInputImage{}), "user_input_image",
			"cannot concat multiple user input images"},
		{chunk(0, &UserInputAudio{}), chunk(0, &UserInputAudio{}), "user_input_audio",
			"cannot concat multiple user input audios"},
		{chunk(0, &UserInputVideo{}), chunk(0, &UserInputVideo{}), "user_input_video",
			"cannot concat multiple user input videos"},
		{chunk(0, &UserInputFile{}), chunk(0, &UserInputFile{}), "user_input_file",
			"cannot concat multiple user input files"},
		{chunk(0, &ToolSearchFunctionToolResult{}), chunk(0, &ToolSearchFunctionToolResult{}), "tool_search_result",
			"cannot concat multiple tool search results"},
		{chunk(0, &MCPToolApprovalResponse{}), chunk(0, &MCPToolApprovalResponse{}), "mcp_tool_approval_response",
			"cannot concat multiple mcp tool approval responses"},
		{
			chunk(0,
				&Reasoning{OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{Index: pointer(0)}}}}),
			chunk(0, &Reasoning{OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{}}}}),
			"reasoning",
			"failed to concat openai reasoning extensions: reasoning content chunks mix indexed and non-indexed content",
		},
		{
			chunk(0, &AssistantGenText{Extension: "x"}),
			chunk(0, &AssistantGenText{ClaudeExtension: &claude.AssistantGenTextExtension{}}),
			"assistant_gen_text",
			"inconsistent extension types in assistant generated text chunks: 'string' vs '*claude.AssistantGenTextExtension'",
		},
		{
			chunk(0, &AssistantGenText{OpenAIExtension: &openai.AssistantGenTextExtension{}}),
			chunk(0, &AssistantGenText{Extension: 1}),
			"assistant_gen_text",
			"inconsistent extension types in assistant generated text chunks: '*openai.AssistantGenTextExtension' vs 'int'",
		},
		{chunk(0, &AssistantGenImage{URL: "a"}), chunk(0, &AssistantGenImage{URL: "b"}), "assistant_gen_image",
			"inconsistent URLs in assistant generated image chunks: 'a' vs 'b'"},
		{chunk(0, &AssistantGenAudio{URL: "a"}), chunk(0, &AssistantGenAudio{URL: "b"}), "assistant_gen_audio",
			"inconsistent URLs in assistant generated audio chunks: 'a' vs 'b'"},
		{chunk(0, &AssistantGenVideo{MIMEType: "a"}), chunk(0, &AssistantGenVideo{MIMEType: "b"}), "assistant_gen_video",
			"inconsistent MIME types in assistant generated video chunks: 'a' vs 'b'"},
		{chunk(0, &FunctionToolCall{CallID: "a"}), chunk(0, &FunctionToolCall{CallID: "b"}), "function_tool_call",
			"expected call ID 'a' for function tool call, but got 'b'"},
		{chunk(0, &FunctionToolCall{Name: "a"}), chunk(0, &FunctionToolCall{Name: "b"}), "function_tool_call",
			"expected tool name 'a' for function tool call, but got 'b'"},
		{chunk(0, &FunctionToolResult{CallID: "a"}), chunk(0, &FunctionToolResult{CallID: "b"}), "function_tool_result",
			"expected call ID 'a' for function tool result, but got 'b'"},
		{chunk(0, &FunctionToolResult{Name: "a"}), chunk(0, &FunctionToolResult{Name: "b"}), "function_tool_result",
			"expected tool name 'a' for function tool result, but got 'b'"},
		{chunk(0, &ServerToolCall{CallID: "a"}), chunk(0, &ServerToolCall{CallID: "b"}), "server_tool_call",
			"expected call ID 'a' for server tool call, but got 'b'"},
		{chunk(0, &ServerToolCall{Name: "a"}), chunk(0, &ServerToolCall{Name: "b"}), "server_tool_call",
			"expected tool name 'a' for server tool call, but got 'b'"},
		{chunk(0, &ServerToolCall{Arguments: "a"}), chunk(0, &ServerToolCall{Arguments: 1}), "server_tool_call",
			"expected type 'string' for server tool call arguments, but got 'int'"},
		{chunk(0, &ServerToolResult{Content: "a"}), chunk(0, &ServerToolResult{Content: 1}), "server_tool_result",
			"expected type 'string' for server tool result, but got 'int'"},
		{chunk(0, &ServerToolResult{Name: "a"}), chunk(0, &ServerToolResult{Name: "b"}), "server_tool_result",
			"expected tool name 'a' for server tool result, but got 'b'"},
		{chunk(0, &ServerToolResult{Content: unknownExtra{1}}), chunk(0, &ServerToolResult{Content: unknownExtra{2}}),
			"server_tool_result",
			"failed to concat server tool result: cannot concat multiple non-zero value of type schema.unknownExtra"},
		{chunk(0, &MCPToolCall{ServerLabel: "a"}), chunk(0, &MCPToolCall{ServerLabel: "b"}), "mcp_tool_call",
			"expected server label 'a' for mcp tool call, but got 'b'"},
		{chunk(0, &MCPToolCall{CallID: "a"}), chunk(0, &MCPToolCall{CallID: "b"}), "mcp_tool_call",
			"expected call ID 'a' for mcp tool call, but got 'b'"},
		{chunk(0, &MCPToolCall{Name: "a"}), chunk(0, &MCPToolCall{Name: "b"}), "mcp_tool_call",
			"expected tool name 'a' for mcp tool call, but got 'b'"},
		{chunk(0, &MCPToolResult{ServerLabel: "a"}), chunk(0, &MCPToolResult{ServerLabel: "b"}), "mcp_tool_result",
			"expected server label 'a' for mcp tool result, but got 'b'"},
		{chunk(0, &MCPListToolsResult{ServerLabel: "a"}), chunk(0, &MCPListToolsResult{ServerLabel: "b"}),
			"mcp_list_tools_result", "expected server label 'a' for mcp list tools result, but got 'b'"},
		{chunk(0, &MCPToolApprovalRequest{ID: "a"}), chunk(0, &MCPToolApprovalRequest{ID: "b"}), "mcp_tool_approval_request",
			"expected request ID 'a' for mcp tool approval request, but got 'b'"},
		{chunk(0, &MCPToolApprovalRequest{Name: "a"}), chunk(0, &MCPToolApprovalRequest{Name: "b"}),
			"mcp_tool_approval_request", "expected tool name 'a' for mcp tool approval request, but got 'b'"},
	} {
		require.Equal(t, "failed to concat '"+string(tt.kind)+"' content blocks: "+tt.want, agenticError(t, tt.a, tt.b))
	}
}

// Rule schema/B15.3.14.
func TestAgenticMessageAccumulator_GivesWhatConcatGives(t *testing.T) {
	var acc AgenticMessageAccumulator
	m, err := acc.Message()
	require.NoError(t, err)
	require.Equal(t, &AgenticMessage{}, m)

	var chunks []*AgenticMessage
	for i := range 6 {
		c := chunk(i%2, &AssistantGenText{Text: fmt.Sprint(i)})
		c.Role = AgenticRoleTypeAssistant
		c.Extra = map[string]any{"s": fmt.Sprint(i)}
		c.ResponseMeta = &AgenticResponseMeta{TokenUsage: &TokenUsage{TotalTokens: i}}
		chunks = append(chunks, c)
		require.NoError(t, acc.Add(c))
		want := mustConcatAgentic(t, chunks...)
		for range 2 {
			m, err := acc.Message()
			require.NoError(t, err)
			require.Equal(t, want, m)
		}
	}
	err = acc.Add(SystemAgenticMessage("x"))
	require.ErrorContains(t, err, "different roles")
	require.Equal(t, err, acc.Add(chunks[0]))
	m, again := acc.Message()
	require.Nil(t, m)
	require.Equal(t, err, again)
}

// Rule schema/B15.3.4.
func TestConcatAgentic_TakesLinearTime(t *testing.T) {
	const n = 4000
	data := strings.Repeat("x", 100)
	for name, c := range map[string]func(i int) *AgenticMessage{
		"reasoning": func(int) *AgenticMessage { return chunk(0, &Reasoning{Text: data, Signature: data}) },
		"text":      func(int) *AgenticMessage { return chunk(0, &AssistantGenText{Text: data}) },
		"image":     func(int) *AgenticMessage { return chunk(0, &AssistantGenImage{Base64Data: data}) },
		"arguments": func(i int) *AgenticMessage { return chunk(i%2, &FunctionToolCall{Arguments: data}) },
		"server":    func(int) *AgenticMessage { return chunk(0, &ServerToolCall{Arguments: data}) },
		"mcp":       func(int) *AgenticMessage { return chunk(0, &MCPToolCall{Arguments: data}) },
		"results": func(int) *AgenticMessage {
			return chunk(0, &FunctionToolResult{Content: make([]*FunctionToolResultContentBlock, 1)})
		},
		"blocks": func(i int) *AgenticMessage { return chunk(n-i, &AssistantGenText{Text: data}) },
	} {
		chunks := make([]*AgenticMessage, n)
		for i := range chunks {
			chunks[i] = c(i)
		}
		elapsed, allocated := measure(func() { mustConcatAgentic(t, chunks...) })
		require.Less(t, elapsed, time.Second, name)
		require.Less(t, allocated, uint64(20*n*len(data)), name)
	}
}

func BenchmarkConcatAgenticMessages(b *testing.B) {
	chunks := make([]*AgenticMessage, 1000)
	for i := range chunks {
		chunks[i] = chunk(0, &AssistantGenText{Text: "word "})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConcatAgenticMessages(chunks); err != nil {
			b.Fatal(err)
		}
	}
}

// Values that are behind an interface are joined like any others, and what is reported of conflicts is the first one.
// Rules schema/B15.3.3, schema/B15.3.5, schema/B15.3.12.
func TestConcatAgentic_JoinsPayloadsBehindInterfaces(t *testing.T) {
	type mine struct{ N int }
	extended := mustConcatAgentic(t,
		&AgenticMessage{ContentBlocks: []*ContentBlock{NewContentBlockChunk(&AssistantGenText{Text: "a", Extension: mine{1}},
			&StreamingMeta{})}},
		&AgenticMessage{ContentBlocks: []*ContentBlock{NewContentBlockChunk(&AssistantGenText{Text: "b", Extension: mine{}},
			&StreamingMeta{})}})
	require.Equal(t, mine{1}, extended.ContentBlocks[0].AssistantGenText.Extension, "the value itself")

	arguments := func(v any) *AgenticMessage {
		return &AgenticMessage{ContentBlocks: []*ContentBlock{NewContentBlockChunk(&ServerToolCall{Name: "n", Arguments: v},
			&StreamingMeta{})}}
	}
	joined := mustConcatAgentic(t, arguments(map[string]any{"q": "a"}), arguments(map[string]any{"q": "b", "n": 1}))
	require.Equal(t, map[string]any{"q": "ab", "n": 1}, joined.ContentBlocks[0].ServerToolCall.Arguments)

	conflict := func(index int, id string) *ContentBlock {
		return NewContentBlockChunk(&FunctionToolCall{CallID: id}, &StreamingMeta{Index: index})
	}
	require.Contains(t, agenticError(t,
		&AgenticMessage{ContentBlocks: []*ContentBlock{conflict(3, "c"), conflict(1, "a"), conflict(2, "b")}},
		&AgenticMessage{ContentBlocks: []*ContentBlock{conflict(3, "z"), conflict(1, "x"), conflict(2, "y")}}),
		"expected call ID 'c' for function tool call, but got 'z'")
}
