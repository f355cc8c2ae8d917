package adk

//lint:file-ignore SA1019 messages may still have parts of the deprecated form

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestHistory_OtherAgentsMessagesBecomeContext: images and other parts stay.
// Rule runtime/F8.
func TestHistory_OtherAgentsMessagesBecomeContext(t *testing.T) {
	extra := map[string]any{"k": "v"}
	common := schema.MessagePartCommon{MIMEType: "x/y"}
	call := schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "T", Arguments: "ARGS"}}
	parts := []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "input"}}
	chat := []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old"}}
	user := schema.UserMessage("asked")
	own := schema.AssistantMessage("mine", nil)
	system := schema.SystemMessage("given")
	entries := []*HistoryEntry{
		{IsUserInput: true, Message: system},
		{IsUserInput: true, Message: user},
		{AgentName: "A", Message: schema.AssistantMessage("C", []schema.ToolCall{call, call})},
		{AgentName: "me", Message: own},
		{AgentName: "A", Message: schema.ToolMessage("C", "1", schema.WithToolName("T"))},
		{AgentName: "A", Message: schema.ToolMessage("", "1", schema.WithToolName("T"))},
		{AgentName: "A", Message: &schema.Message{Role: schema.Assistant, MultiContent: chat, UserInputMultiContent: parts,
			AssistantGenMultiContent: []schema.MessageOutputPart{
				{Type: schema.ChatMessagePartTypeText, Text: "text", Extra: extra},
				{Type: schema.ChatMessagePartTypeReasoning, Reasoning: &schema.MessageOutputReasoning{Text: "hm"}},
				{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: common},
					Extra: extra},
				{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageOutputAudio{MessagePartCommon: common}},
				{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageOutputVideo{MessagePartCommon: common}},
			}}},
	}
	got := asContext("me", entries)
	require.Len(t, got, len(entries))
	require.Same(t, system, got[0])
	require.Same(t, user, got[1])
	require.Equal(t,
		schema.UserMessage("For context: [A] said: C. [A] called tool: `T` with arguments: ARGS. [A] called tool: `T` with arguments: ARGS."), got[2])
	require.Same(t, own, got[3])
	require.Equal(t, schema.UserMessage("For context: [A] `T` tool returned result: C."), got[4])
	require.Equal(t, schema.UserMessage("For context:"), got[5])
	want := schema.UserMessage("For context:")
	want.MultiContent = chat
	want.UserInputMultiContent = append(parts[:1:1],
		schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "text", Extra: extra},
		schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageInputImage{MessagePartCommon: common}, Extra: extra},
		schema.MessageInputPart{Type: schema.ChatMessagePartTypeAudioURL,
			Audio: &schema.MessageInputAudio{MessagePartCommon: common}},
		schema.MessageInputPart{Type: schema.ChatMessagePartTypeVideoURL,
			Video: &schema.MessageInputVideo{MessagePartCommon: common}})
	require.Equal(t, want, got[6])
	got[6].MultiContent[0].Text, got[6].UserInputMultiContent[0].Text = "changed", "changed"
	require.Equal(t, []string{"old", "input"}, []string{chat[0].Text, parts[0].Text}, "they are copies")
}
