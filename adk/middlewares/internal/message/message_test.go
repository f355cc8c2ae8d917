package message

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBothKindsAlike(t *testing.T) {
	alike(t, schema.AssistantMessage("hi",
		[]schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "t", Arguments: "{}"}}}))
	alike(t, &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		nil, {Type: schema.ContentBlockTypeFunctionToolCall},
		schema.NewContentBlock(&schema.AssistantGenText{Text: "hi"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "t", Arguments: "{}"})}})
}

func alike[M adk.MessageType](t *testing.T, assistant M) {
	var none M
	require.Equal(t, Other, KindOf(none))
	require.Zero(t, CountCalls(none))
	require.Empty(t, Results(none))
	require.Empty(t, Text(none))
	require.Nil(t, Extra(none))
	require.Nil(t, Usage(none))

	require.Equal(t, System, KindOf(NewSystem[M]("s")))
	require.Equal(t, User, KindOf(NewUser[M]("u")))
	require.Equal(t, "u", Text(NewUser[M]("u")))
	result := NewResult[M](Call{ID: "1", Name: "t"}, "r")
	require.Equal(t, Result, KindOf(result))
	require.Equal(t, []Call{{ID: "1", Name: "t"}}, Results(result))
	text, ok := ResultText(result, "1")
	require.True(t, ok)
	require.Equal(t, "r", text)
	_, ok = ResultText(result, "2")
	require.False(t, ok)

	require.Equal(t, Assistant, KindOf(assistant))
	require.Equal(t, "hi", Text(assistant))
	require.Equal(t, []Call{{"1", "t", "{}"}}, Calls(assistant))

	marked := WithExtra(assistant, "k", 1)
	require.Nil(t, Extra(assistant))
	require.Equal(t, map[string]any{"k": 1}, Extra(marked))
	again := WithExtra(marked, "l", 2)
	require.Len(t, Extra(marked), 1)
	require.Len(t, Extra(again), 2)
}

func TestText_PartsBeforeContent(t *testing.T) {
	image := schema.ChatMessagePartTypeImageURL
	for want, m := range map[string]*schema.Message{
		"a\nb": {Content: "c", AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "a"}, {Type: image, Text: "no"},
			{Type: schema.ChatMessagePartTypeText}, {Type: schema.ChatMessagePartTypeText, Text: "b"}}},
		"u": {Content: "c", UserInputMultiContent: []schema.MessageInputPart{
			{Type: image, Text: "no"}, {Type: schema.ChatMessagePartTypeText, Text: "u"}}},
		//lint:ignore SA1019 stored messages still have it
		"old": {Content: "c", MultiContent: []schema.ChatMessagePart{
			{Type: image, Text: "no"}, {Type: schema.ChatMessagePartTypeText, Text: "old"}}},
		"c": {Content: "c", UserInputMultiContent: []schema.MessageInputPart{{Type: image}}},
	} {
		require.Equal(t, want, Text(m))
	}
	require.Equal(t, "a\nu", Text(&schema.AgenticMessage{ContentBlocks: []*schema.ContentBlock{
		nil, schema.NewContentBlock(&schema.AssistantGenText{Text: "a"}), schema.NewContentBlock(&schema.AssistantGenText{}),
		schema.NewContentBlock(&schema.UserInputText{Text: "u"})}}))
}
