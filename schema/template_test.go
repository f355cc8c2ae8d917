package schema

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// Rule schema/F1.
func TestPlaceholder_OptionalMayBeAbsent(t *testing.T) {
	for _, vs := range []map[string]any{nil, {}, {"other": 1}} {
		got, err := MessagesPlaceholder("history", true).Format(ctx, vs, FString)
		require.NoError(t, err)
		require.Equal(t, []*Message{}, got)
		agentic, err := AgenticMessagesPlaceholder("history", true).Format(ctx, vs, FString)
		require.NoError(t, err)
		require.Equal(t, []*AgenticMessage{}, agentic)

		_, err = MessagesPlaceholder("history", false).Format(ctx, vs, FString)
		require.EqualError(t, err, "message placeholder format: history not found")
		_, err = AgenticMessagesPlaceholder("history", false).Format(ctx, vs, FString)
		require.EqualError(t, err, "message placeholder format: history not found")
	}
}

// Rule schema/F2.
func TestPlaceholder_RefusesOtherTypes(t *testing.T) {
	for _, tt := range []struct {
		v    any
		name string
	}{{nil, "<nil>"}, {"x", "string"}, {[]Message{}, "[]schema.Message"}, {UserMessage("x"), "*schema.Message"}} {
		_, err := MessagesPlaceholder("k", true).Format(ctx, map[string]any{"k": tt.v}, FString)
		require.EqualError(t, err, "only messages can be used to format message placeholder, key: k, actual type: "+tt.name)
		_, err = AgenticMessagesPlaceholder("k", true).Format(ctx, map[string]any{"k": tt.v}, FString)
		require.EqualError(t, err, "only agentic messages can be used to format message placeholder, key: k, actual type: "+
			tt.name)
	}
	_, err := MessagesPlaceholder("k", false).Format(ctx, map[string]any{"k": []*AgenticMessage{}}, FString)
	require.ErrorContains(t, err, "actual type: []*schema.AgenticMessage")
}

// Rule schema/F3.
func TestPlaceholder_ReturnsTheGivenSlice(t *testing.T) {
	history := []*Message{UserMessage("{not rendered}"), nil}
	got, err := MessagesPlaceholder("k", false).Format(ctx, map[string]any{"k": history}, FormatType(9))
	require.NoError(t, err)
	require.Same(t, &history[0], &got[0])
	require.Equal(t, "{not rendered}", got[0].Content)
	got, err = MessagesPlaceholder("k", false).Format(ctx, map[string]any{"k": []*Message(nil)}, FString)
	require.NoError(t, err)
	require.Nil(t, got)
	agentic := []*AgenticMessage{UserAgenticMessage("{x}")}
	gotAgentic, err := AgenticMessagesPlaceholder("k", false).Format(ctx, map[string]any{"k": agentic}, Jinja2)
	require.NoError(t, err)
	require.Same(t, &agentic[0], &gotAgentic[0])
}

// inputMessage has text t in every place that is rendered, and the same text where nothing is.
func inputMessage(t string) *Message {
	media := func() MessagePartCommon {
		return MessagePartCommon{URL: pointer(t), Base64Data: pointer(t), MIMEType: "{a}",
			Extra: map[string]any{"{a}": "{a}"}}
	}
	return &Message{
		Role: User, Content: t,
		MultiContent: []ChatMessagePart{
			{Type: ChatMessagePartTypeText, Text: t},
			{Type: ChatMessagePartTypeImageURL, ImageURL: &ChatMessageImageURL{URL: t, URI: "{a}"}},
			{Type: ChatMessagePartTypeAudioURL, AudioURL: &ChatMessageAudioURL{URL: t, URI: "{a}"}},
			{Type: ChatMessagePartTypeVideoURL, VideoURL: &ChatMessageVideoURL{URL: t, URI: "{a}"}},
			{Type: ChatMessagePartTypeFileURL, FileURL: &ChatMessageFileURL{URL: t, URI: "{a}", Name: "{a}"}},
			{Type: ChatMessagePartTypeImageURL},
			{Type: ChatMessagePartTypeReasoning, Text: "{a}"},
		},
		UserInputMultiContent: []MessageInputPart{
			{Type: ChatMessagePartTypeText, Text: t},
			{Type: ChatMessagePartTypeImageURL, Image: &MessageInputImage{MessagePartCommon: media()}},
			{Type: ChatMessagePartTypeAudioURL, Audio: &MessageInputAudio{media()}},
			{Type: ChatMessagePartTypeVideoURL, Video: &MessageInputVideo{media()}},
			{Type: ChatMessagePartTypeFileURL, File: &MessageInputFile{MessagePartCommon: media(), Name: "{a}"}},
			{Type: ChatMessagePartTypeImageURL, Image: &MessageInputImage{}},
			{Type: ChatMessagePartTypeImageURL,
				Image: &MessageInputImage{MessagePartCommon: MessagePartCommon{URL: pointer("")}}},
			{Type: ChatMessagePartTypeVideoURL},
			{Type: ChatMessagePartTypeToolSearchResult, Text: "{a}"},
		},
		AssistantGenMultiContent: []MessageOutputPart{{Type: ChatMessagePartTypeText, Text: "{a}"}},
		ReasoningContent:         "{a}", Name: "{a}", ToolCallID: "{a}", ToolName: "{a}",
		ToolCalls: []ToolCall{{ID: "{a}", Function: FunctionCall{Arguments: "{a}"}}},
		Extra:     map[string]any{"{a}": "{a}"},
	}
}

// Rules schema/F4, schema/F5, schema/F7, schema/B15.2.2.
func TestMessageFormat_RendersACopy(t *testing.T) {
	vs := map[string]any{"a": "x"}
	template := inputMessage("<{a}>")
	for range 2 { // the second rendering must not see the first
		got, err := template.Format(ctx, vs, FString)
		require.NoError(t, err)
		require.Equal(t, []*Message{inputMessage("<x>")}, got)
		require.NotSame(t, template, got[0])
		require.Equal(t, inputMessage("<{a}>"), template)
	}
	got, err := template.Format(ctx, map[string]any{"a": "y"}, FString)
	require.NoError(t, err)
	require.Equal(t, []*Message{inputMessage("<y>")}, got)
}

// Rules schema/F7, schema/B15.2.2.
func TestMessageFormat_MayRunConcurrently(t *testing.T) {
	template := inputMessage("<{a}>")
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for _, a := range []string{"x", "y"} {
				got, err := template.Format(ctx, map[string]any{"a": a}, FString)
				if err != nil || !reflect.DeepEqual(got[0], inputMessage("<"+a+">")) {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMessageFormat_Languages(t *testing.T) {
	vs := map[string]any{"a": "x", "l": []int{1, 2}}
	for formatType, text := range map[FormatType]string{
		FString: "{a} {l[0]}", GoTemplate: "{{.a}} {{index .l 0}}",
	} {
		got, err := UserMessage(text).Format(ctx, vs, formatType)
		require.NoError(t, err)
		require.Equal(t, "x 1", got[0].Content)
	}
}

// engine has a template with a text of its own, which it renders with one variable behind it.
type engine string

func (e engine) Execute(vars map[string]any, limit int) (string, error) {
	return fmt.Sprint(string(e), " ", vars["a"], " ", limit > 1<<20), nil
}

var registerEngine = sync.OnceFunc(func() {
	RegisterTemplates(Jinja2, func(text string) (TextTemplate, error) { return engine(text), nil })
})

// Rule schema/B15.2.6.
func TestRegisterTemplates_TakesOneEngine(t *testing.T) {
	registerEngine()
	got, err := UserMessage("{{ a }}").Format(ctx, map[string]any{"a": "x"}, Jinja2)
	require.NoError(t, err)
	require.Equal(t, "{{ a }} x true", got[0].Content)

	compile := func(text string) (TextTemplate, error) { return engine(text), nil }
	require.PanicsWithValue(t, "schema.RegisterTemplates: Jinja2 has an engine already",
		func() { RegisterTemplates(Jinja2, compile) })
	require.PanicsWithValue(t, "schema.RegisterTemplates: compile is nil", func() { RegisterTemplates(Jinja2, nil) })
	for _, language := range []FormatType{FString, GoTemplate, 3} {
		require.PanicsWithValue(t,
			fmt.Sprintf("schema.RegisterTemplates: format type %d takes no engine, only Jinja2 does", language),
			func() { RegisterTemplates(language, compile) })
	}
}

// Rules schema/F6, schema/B15.2.5.
func TestMessageFormat_NamesTheFieldThatFailed(t *testing.T) {
	for _, tt := range []struct {
		message *Message
		want    string
	}{
		{UserMessage("{no}"), "failed to format content: could not find key: no"},
		{&Message{MultiContent: []ChatMessagePart{{}, {Type: ChatMessagePartTypeText, Text: "{no}"}}},
			"failed to format multi_content[1].text: could not find key: no"},
		{&Message{UserInputMultiContent: []MessageInputPart{{
			Type: ChatMessagePartTypeAudioURL, Audio: &MessageInputAudio{MessagePartCommon{Base64Data: pointer("{no}")}},
		}}}, "failed to format user_input_multi_content[0].audio.base64data: could not find key: no"},
	} {
		got, err := tt.message.Format(ctx, nil, FString)
		require.EqualError(t, err, tt.want)
		require.Nil(t, got)
	}
	_, err := (*Message)(nil).Format(ctx, nil, FString)
	require.ErrorContains(t, err, "nil")

	empty := &Message{MultiContent: []ChatMessagePart{}, UserInputMultiContent: nil}
	got, err := empty.Format(ctx, nil, FString)
	require.NoError(t, err)
	require.Equal(t, empty, got[0])
	require.NotNil(t, got[0].MultiContent)
	require.Nil(t, got[0].UserInputMultiContent)
}

// Rule schema/F8.
func TestFormat_RefusesUnknownTypes(t *testing.T) {
	_, err := UserMessage("x").Format(ctx, nil, FormatType(9))
	require.EqualError(t, err, "unknown format type: 9")
	_, err = (&AgenticMessage{}).Format(ctx, nil, FormatType(3))
	require.EqualError(t, err, "unknown format type: 3")
}

func agenticInput(t string) *AgenticMessage {
	return &AgenticMessage{
		Role: AgenticRoleTypeUser,
		ContentBlocks: []*ContentBlock{
			NewContentBlock(&UserInputText{Text: t}),
			nil,
			NewContentBlock(&UserInputImage{URL: t, Base64Data: t, MIMEType: "{a}"}),
			NewContentBlock(&UserInputAudio{URL: t, Base64Data: t, MIMEType: "{a}"}),
			NewContentBlock(&UserInputVideo{URL: t, Base64Data: t, MIMEType: "{a}"}),
			NewContentBlock(&UserInputFile{URL: t, Name: t, Base64Data: t, MIMEType: "{a}"}),
			NewContentBlock(&UserInputFile{}),
			NewContentBlock[UserInputText](nil),
			NewContentBlock(&AssistantGenText{Text: "{a}"}),
			{Type: ContentBlockTypeAssistantGenText, UserInputText: &UserInputText{Text: "{a}"}},
		},
		Extra: map[string]any{"k": "{a}"},
	}
}

// Rule schema/F9.
func TestAgenticMessageFormat_RendersACopy(t *testing.T) {
	template := agenticInput("<{a}>")
	for range 2 {
		got, err := template.Format(ctx, map[string]any{"a": "x"}, FString)
		require.NoError(t, err)
		require.Equal(t, []*AgenticMessage{agenticInput("<x>")}, got)
		require.Equal(t, agenticInput("<{a}>"), template)
		require.NotSame(t, template.ContentBlocks[8], got[0].ContentBlocks[8])
		require.Same(t, template.ContentBlocks[8].AssistantGenText, got[0].ContentBlocks[8].AssistantGenText)
	}
	got, err := UserAgenticMessage("{no}").Format(ctx, nil, FString)
	require.EqualError(t, err, "failed to format content_blocks[0].user_input_text.text: could not find key: no")
	require.Nil(t, got)
	_, err = (*AgenticMessage)(nil).Format(ctx, nil, FString)
	require.ErrorContains(t, err, "nil")
	got, err = (&AgenticMessage{}).Format(ctx, nil, FString)
	require.NoError(t, err)
	require.Nil(t, got[0].ContentBlocks)
}

func BenchmarkMessageFormat(b *testing.B) {
	m := SystemMessage("You are {role}. Answer in {language}.")
	vs := map[string]any{"role": "an assistant", "language": "English"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Format(ctx, vs, FString); err != nil {
			b.Fatal(err)
		}
	}
}
