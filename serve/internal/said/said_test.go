package said

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

func TestIn_ReadsBothKindsOfMessagesAlike(t *testing.T) {
	url := "https://example.com/a.png"
	chat := &schema.Message{Role: schema.Assistant, Content: "See", ReasoningContent: "Hm.",
		AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "."},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{
				MessagePartCommon: schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}}}},
		ToolCalls: []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}}}
	agentic := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{nil,
		schema.NewContentBlock(&schema.Reasoning{Text: "Hm."}), schema.NewContentBlock(&schema.AssistantGenText{Text: "See."}),
		schema.NewContentBlock(&schema.AssistantGenImage{URL: url, MIMEType: "image/png"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "c", Name: "look", Arguments: "{}"})}}
	want := Content{Text: "See.", Thought: "Hm.", Media: []schema.MessagePartCommon{{URL: &url, MIMEType: "image/png"}}, Calls: chat.ToolCalls}
	for _, m := range []*runlog.Message{{Chat: chat}, {Agentic: agentic}} {
		require.Equal(t, want, In(m))
		require.True(t, ByModel(m))
	}
	require.Equal(t, Content{}, In(nil))
	require.Equal(t, Content{}, In(&runlog.Message{Shape: &runlog.MessageShape{}}))
	require.False(t, ByModel(nil))
	require.False(t, ByModel(&runlog.Message{Chat: schema.UserMessage("x")}))
}
