package schema

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goldenMessage returns a message with a block of every type but tool searches, which have no lines of their own.
func goldenMessage() *AgenticMessage {
	code := int64(-32601)
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 4)
	return &AgenticMessage{
		Role: AgenticRoleTypeAssistant,
		ContentBlocks: []*ContentBlock{
			NewContentBlockChunk(&Reasoning{Text: "step one\nstep two", Signature: strings.Repeat("s", 60)},
				&StreamingMeta{Index: 0}),
			NewContentBlock(&UserInputText{Text: "hello"}),
			NewContentBlock(&UserInputImage{URL: "https://example.com/" + strings.Repeat("u", 100), Base64Data: image,
				MIMEType: "image/png", Detail: ImageURLDetailHigh}),
			nil,
			NewContentBlock(&UserInputAudio{Base64Data: "audio_data", MIMEType: "audio/wav"}),
			NewContentBlock(&UserInputVideo{URL: "https://example.com/v"}),
			NewContentBlock(&UserInputFile{Name: "a.pdf", URL: "https://example.com/f", MIMEType: "application/pdf"}),
			NewContentBlockChunk(&AssistantGenText{Text: "answer"}, &StreamingMeta{Index: 7}),
			NewContentBlock(&AssistantGenImage{Base64Data: image}),
			NewContentBlock(&AssistantGenAudio{}),
			NewContentBlock(&AssistantGenVideo{URL: "https://example.com/w", MIMEType: "video/mp4"}),
			NewContentBlock(&FunctionToolCall{CallID: "c1", Name: "f", Arguments: `{"a":1}`}),
			NewContentBlock(&FunctionToolResult{CallID: "c1", Name: "f", Content: []*FunctionToolResultContentBlock{
				{Type: FunctionToolResultContentBlockTypeText, Text: &UserInputText{Text: "done"}},
				nil,
				{Type: FunctionToolResultContentBlockTypeImage,
					Image: &UserInputImage{URL: "https://example.com/i", MIMEType: "image/png"}},
				{Type: FunctionToolResultContentBlockTypeFile},
			}}),
			NewContentBlock(&ServerToolCall{Name: "web_search", CallID: "s1",
				Arguments: map[string]any{"query": "<a>", "limit": 2}}),
			NewContentBlock(&ServerToolResult{Name: "web_search", Content: []string{"r1", "r2"}}),
			NewContentBlock(&MCPToolCall{ServerLabel: "srv", CallID: "m1", Name: "t", Arguments: "{}"}),
			NewContentBlock(&MCPToolResult{ServerLabel: "srv", CallID: "m1", Name: "t", Content: "x",
				Error: &MCPToolCallError{Code: &code, Message: "not found"}}),
			NewContentBlock(&MCPListToolsResult{ServerLabel: "srv",
				Tools: []*MCPListToolsItem{{Name: "t", Description: "does t"}, nil}, Error: "partial"}),
			NewContentBlock(&MCPToolApprovalRequest{ServerLabel: "srv", ID: "q1", Name: "t", Arguments: "{}"}),
			NewContentBlock(&MCPToolApprovalResponse{ApprovalRequestID: "q1", Approve: true, Reason: "fine"}),
		},
		ResponseMeta: &AgenticResponseMeta{TokenUsage: &TokenUsage{PromptTokens: 10, CompletionTokens: 20, TotalTokens: 30}},
	}
}

func TestAgenticMessageString_Golden(t *testing.T) {
	want, err := os.ReadFile("testdata/agentic_message.golden")
	require.NoError(t, err)
	require.Equal(t, string(want), goldenMessage().String())
}

// Rule schema/A30.
func TestAgenticMessageString_ListsBlocksAndUsage(t *testing.T) {
	require.Equal(t, "", (*AgenticMessage)(nil).String())
	require.Equal(t, "role: user\n", (&AgenticMessage{Role: AgenticRoleTypeUser}).String())
	require.Equal(t, "role: \ncontent_blocks:\n", (&AgenticMessage{ContentBlocks: []*ContentBlock{nil}}).String())
	require.Equal(t, "role: \nresponse_meta:\n", (&AgenticMessage{ResponseMeta: &AgenticResponseMeta{}}).String())
	require.Equal(t, "  token_usage: prompt=1, completion=2, total=3\n",
		(&AgenticResponseMeta{TokenUsage: &TokenUsage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}}).String())
}

// Rule schema/A31.
func TestContentBlockString_EndsWithTheStreamIndex(t *testing.T) {
	require.Equal(t, "type: new\n", (&ContentBlock{Type: "new", UserInputText: &UserInputText{Text: "t"}}).String())
	require.Equal(t, "type: reasoning\n      stream_index: 0\n",
		NewContentBlockChunk[Reasoning](nil, &StreamingMeta{}).String())
}

// Rules schema/A32, schema/B15.4.5.
func TestContentString_ShowsEveryKindOfPayload(t *testing.T) {
	for _, tt := range []struct {
		v    interface{ String() string }
		want string
	}{
		{&Reasoning{}, "      text: \n"},
		{&Reasoning{Signature: strings.Repeat("é", 30)},
			"      text: \n      signature: " + strings.Repeat("é", 25) + "...\n"},
		{&Reasoning{Signature: "a" + strings.Repeat("é", 30)},
			"      text: \n      signature: a" + strings.Repeat("é", 24) + "...\n"},
		{&Reasoning{Signature: strings.Repeat("s", 50)}, "      text: \n      signature: " + strings.Repeat("s", 50) + "\n"},
		{&UserInputImage{}, ""},
		{&UserInputImage{URL: strings.Repeat("u", 101)}, "      url: " + strings.Repeat("u", 100) + "...\n"},
		{&UserInputAudio{Base64Data: "audio_data"}, "      base64_data: audio_data... (10 bytes)\n"},
		{&AssistantGenImage{Base64Data: strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 4)},
			"      base64_data: iVBORw0KGgoAAAANSUhE...... (96 bytes)\n"},
		{&UserInputFile{}, ""},
		{&FunctionToolCall{}, "      call_id: \n      name: \n      arguments: \n"},
		{&FunctionToolResult{Content: []*FunctionToolResultContentBlock{}}, "      call_id: \n      name: \n"},
		{&ServerToolCall{Name: "n"}, "      name: n\n      arguments: null\n"},
		{&ServerToolCall{Arguments: time.Second}, "      name: \n      arguments: 1s\n"},
		{&ServerToolCall{Arguments: (*Document)(nil)}, "      name: \n      arguments: \n"},
		{&ServerToolCall{Arguments: math.Inf(1)}, "      name: \n      arguments: +Inf\n"},
		{&ServerToolCall{Arguments: panicking{}}, "      name: \n      arguments: {}\n"},
		{&ServerToolResult{Content: "a\nb"}, "      name: \n      content: a\nb\n"},
		{&ServerToolResult{Content: map[string]any{"b": "<&>", "a": 1}},
			"      name: \n      content: {\n  \"a\": 1,\n  \"b\": \"<&>\"\n}\n"},
		{&MCPToolResult{Error: &MCPToolCallError{Message: "m"}},
			"      call_id: \n      name: \n      content: \n      error: m\n"},
		{&MCPListToolsResult{}, "      server_label: \n      tools: 0 items\n"},
		{&MCPToolApprovalResponse{}, "      approval_request_id: \n      approve: false\n"},
		{&ToolSearchFunctionToolResult{CallID: "c",
			Result: &ToolSearchResult{Tools: []*ToolInfo{{Name: "a"}, nil, {Name: "b"}}}}, "ToolSearchResult[a,,b,]"},
		{&ToolSearchFunctionToolResult{}, ""},
	} {
		require.Equal(t, tt.want, tt.v.String())
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

// Rule schema/A33.
func TestContentString_NamesEmptyAndUnknownBlocks(t *testing.T) {
	for typ, payload := range map[FunctionToolResultContentBlockType]*FunctionToolResultContentBlock{
		"text": {Text: &UserInputText{Text: "t"}}, "image": {Image: &UserInputImage{URL: "u"}},
		"audio": {Audio: &UserInputAudio{URL: "u"}},
		"video": {Video: &UserInputVideo{URL: "u"}}, "file": {File: &UserInputFile{URL: "u"}},
	} {
		payload.Type = typ
		want := "      url: u\n"
		if typ == "text" {
			want = "      text: t\n"
		}
		require.Equal(t, want, payload.String())
		require.Equal(t, "empty "+string(typ)+" block\n", (&FunctionToolResultContentBlock{Type: typ}).String())
	}
	require.Equal(t, "unknown block type: <empty>\n", (&FunctionToolResultContentBlock{}).String())
	require.Equal(t, "unknown block type: new\n", (&FunctionToolResultContentBlock{Type: "new"}).String())
}

// Rule schema/B15.4.5.
func TestContentString_IsNilSafe(t *testing.T) {
	for _, b := range onePayloadEach() {
		empty := &ContentBlock{Type: b.Type}
		require.Equal(t, "type: "+string(b.Type)+"\n", empty.String())
		require.Empty(t, empty.payload().(fmt.Stringer).String(), b.Type)
		require.Equal(t, "type: "+string(b.Type)+"\n"+b.payload().(fmt.Stringer).String(), b.String())
	}
	require.Empty(t, (*ContentBlock)(nil).String())
	require.Empty(t, (*AgenticResponseMeta)(nil).String())
	require.Empty(t, (*FunctionToolResultContentBlock)(nil).String())
	require.Empty(t, (*UserInputText)(nil).String())
	require.Empty(t, (*ToolSearchResult)(nil).String())
	require.Empty(t, (*Document)(nil).String())
}
