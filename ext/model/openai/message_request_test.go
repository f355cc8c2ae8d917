package openai

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func text(s string) schema.MessageInputPart {
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: s}
}

func image(common schema.MessagePartCommon) schema.MessageInputPart {
	return schema.MessageInputPart{
		Type:  schema.ChatMessagePartTypeImageURL,
		Image: &schema.MessageInputImage{MessagePartCommon: common, Detail: schema.ImageURLDetailLow},
	}
}

func atURL(url string) schema.MessagePartCommon { return schema.MessagePartCommon{URL: &url} }

func inBase64(data, mimeType string) schema.MessagePartCommon {
	return schema.MessagePartCommon{Base64Data: &data, MIMEType: mimeType}
}

func TestMessages_Roles(t *testing.T) {
	got := sentMessages(t, unchanged,
		schema.SystemMessage("be <kind>"),
		&schema.Message{Role: schema.User, Content: "hi", Name: "ann"},
		schema.AssistantMessage("let me see", []schema.ToolCall{
			{ID: "1", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}},
			{ID: "2", Type: "function", Function: schema.FunctionCall{Name: "g"}},
		}),
		schema.ToolMessage("r1", "1", schema.WithToolName("f")),
		schema.ToolMessage("", "2"),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "3", Function: schema.FunctionCall{Name: "f", Arguments: "{}"}}}),
		schema.ToolMessage("r3", "3"),
		schema.AssistantMessage("", nil),
		schema.UserMessage(""),
	)
	require.JSONEq(t, `[
		{"role":"system","content":"be <kind>"},
		{"role":"user","content":"hi","name":"ann"},
		{"role":"assistant","content":"let me see","tool_calls":[
			{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
			{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":"r1"},
		{"role":"tool","tool_call_id":"2","content":""},
		{"role":"assistant","tool_calls":[{"id":"3","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"3","content":"r3"},
		{"role":"assistant","content":""},
		{"role":"user","content":""}]`, got)
}

func TestMessages_UserParts(t *testing.T) {
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 a document"))
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and more"))
	media := func(t schema.ChatMessagePartType, common schema.MessagePartCommon) schema.MessageInputPart {
		return schema.MessageInputPart{
			Type:  t,
			Audio: &schema.MessageInputAudio{MessagePartCommon: common},
			Video: &schema.MessageInputVideo{MessagePartCommon: common},
			File:  &schema.MessageInputFile{MessagePartCommon: common},
		}
	}
	for name, c := range map[string]struct {
		part schema.MessageInputPart
		want string
	}{
		"text": {text("a"), `{"type":"text","text":"a"}`},
		"image by URL": {image(atURL("https://i/1.png")),
			`{"type":"image_url","image_url":{"url":"https://i/1.png","detail":"low"}}`},
		"image": {image(inBase64("AAAA", "image/webp")),
			`{"type":"image_url","image_url":{"url":"data:image/webp;base64,AAAA","detail":"low"}}`},
		"image as it is": {image(inBase64("data:image/gif;base64,AAAA", "")),
			`{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAAA","detail":"low"}}`},
		"image of unknown": {image(inBase64(png, "")),
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `","detail":"low"}}`},
		"audio": {media(schema.ChatMessagePartTypeAudioURL, inBase64("AAAA", "audio/mpeg")),
			`{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}}`},
		"wav": {media(schema.ChatMessagePartTypeAudioURL, inBase64("AAAA", "audio/x-wav; rate=1")),
			`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`},
		"other audio": {media(schema.ChatMessagePartTypeAudioURL, atURL("data:audio/flac;base64,AAAA")),
			`{"type":"input_audio","input_audio":{"data":"AAAA","format":"flac"}}`},
		"audio by URL": {media(schema.ChatMessagePartTypeAudioURL, atURL("https://a/1")),
			`{"type":"audio_url","audio_url":{"url":"https://a/1"}}`},
		"video": {media(schema.ChatMessagePartTypeVideoURL, inBase64("AAAA", "video/mp4")),
			`{"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}}`},
		"file": {media(schema.ChatMessagePartTypeFileURL, inBase64(pdf, "")),
			`{"type":"file","file":{"filename":"file.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}}`},
		"file by ID": {media(schema.ChatMessagePartTypeFileURL, atURL("file-123")),
			`{"type":"file","file":{"file_id":"file-123"}}`},
		"file by URL": {media(schema.ChatMessagePartTypeFileURL, atURL("https://f/1.pdf")),
			`{"type":"file","file":{"file_data":"https://f/1.pdf"}}`},
		"extra fields": {
			schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "a",
				Extra: map[string]any{ExtraFieldsKey: map[string]any{"cache_control": map[string]any{"type": "ephemeral"}}}},
			`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sentMessages(t, unchanged,
				&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{c.part}})
			require.JSONEq(t, `[{"role":"user","content":[`+c.want+`]}]`, got)
		})
	}
	got := sentMessages(t, unchanged,
		&schema.Message{Role: schema.User, Content: "first",
			UserInputMultiContent: []schema.MessageInputPart{text("second")}})
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"first"},{"type":"text","text":"second"}]}]`, got)
}

func TestMessages_AssistantMedia(t *testing.T) {
	url := "https://i"
	parts := []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "text of the parts"},
		{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
		{Type: schema.ChatMessagePartTypeAudioURL, Audio: new(schema.MessageOutputAudio)},
		{Type: schema.ChatMessagePartTypeReasoning, Reasoning: new(schema.MessageOutputReasoning)},
	}
	got := sentMessages(t, unchanged,
		&schema.Message{Role: schema.Assistant, Content: "text", AssistantGenMultiContent: parts},
		&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: parts},
		&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: parts[:1]},
		&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: parts[1:]},
	)
	require.JSONEq(t, `[
		{"role":"assistant","content":[{"type":"text","text":"text"},{"type":"image_url","image_url":{"url":"https://i"}}]},
		{"role":"assistant","content":[{"type":"text","text":"text of the parts"},{"type":"image_url","image_url":{"url":"https://i"}}]},
		{"role":"assistant","content":"text of the parts"},
		{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://i"}}]}]`, got)
}

// callOf is an answer that calls a tool once for each ID.
func callOf(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "f"}})
	}
	return m
}

func TestMessages_MediaOfToolResults(t *testing.T) {
	result := func(id, name string, parts ...schema.MessageInputPart) *schema.Message {
		return &schema.Message{Role: schema.Tool, ToolCallID: id, ToolName: name, UserInputMultiContent: parts}
	}
	history := []*schema.Message{
		schema.UserMessage("look"), callOf("1", "2", "3"),
		result("1", "camera", text("north"), image(atURL("https://i/1")), text("south")),
		result("2", "", image(atURL("https://i/2"))),
		result("3", "", text("just text")),
		schema.UserMessage("and?"), callOf("4"),
		result("4", "", image(atURL("https://i/4"))),
	}
	calls := func(ids ...string) string {
		var all []string
		for _, id := range ids {
			all = append(all, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(all, ",") + `]}`
	}
	img := func(n string) string {
		return `{"type":"image_url","image_url":{"url":"https://i/` + n + `","detail":"low"}}`
	}
	t.Run("in a user message", func(t *testing.T) {
		require.JSONEq(t, `[
			{"role":"user","content":"look"},`+calls("1", "2", "3")+`,
			{"role":"tool","tool_call_id":"1","content":"north\nsouth"},
			{"role":"tool","tool_call_id":"2","content":"See the media in the next user message."},
			{"role":"tool","tool_call_id":"3","content":"just text"},
			{"role":"user","content":[
				{"type":"text","text":"Media returned by tool call 1 of camera:"},`+img("1")+`,
				{"type":"text","text":"Media returned by tool call 2:"},`+img("2")+`]},
			{"role":"user","content":"and?"},`+calls("4")+`,
			{"role":"tool","tool_call_id":"4","content":"See the media in the next user message."},
			{"role":"user","content":[{"type":"text","text":"Media returned by tool call 4:"},`+img("4")+`]}]`,
			sentMessages(t, unchanged, history...))
	})
	t.Run("inline", func(t *testing.T) {
		require.JSONEq(t, `[`+calls("1", "5", "6")+`,
			{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"north"},`+img("1")+
			`,{"type":"text","text":"south"}]},
			{"role":"tool","tool_call_id":"5","content":"first\nsecond"},
			{"role":"tool","tool_call_id":"6","content":"only text"}]`,
			sentMessages(t, func(c *Config) { c.ToolResultMedia = ToolResultMediaInline }, callOf("1", "5", "6"), history[2],
				&schema.Message{Role: schema.Tool, ToolCallID: "5", Content: "first",
					UserInputMultiContent: []schema.MessageInputPart{text("second")}},
				schema.ToolMessage("only text", "6")))
	})
}

func TestMessages_ExtraFields(t *testing.T) {
	m := schema.UserMessage("a")
	m.Extra = map[string]any{ExtraFieldsKey: map[string]any{"cache": true}, "else": 1}
	require.JSONEq(t, `[{"role":"user","content":"a","cache":true}]`, sentMessages(t, unchanged, m))
}

func TestMessages_Errors(t *testing.T) {
	m := newModel(t, whole(`{"choices":[{"message":{}}]}`))
	user := func(p schema.MessageInputPart) []*schema.Message {
		return []*schema.Message{schema.SystemMessage(""),
			{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{p}}}
	}
	both := atURL("https://i")
	both.Base64Data = both.URL
	for want, in := range map[string][]*schema.Message{
		"the conversation has no messages":                      nil,
		"message 0: it is nil":                                  {nil},
		`message 0: the role "robot" is unknown`:                {{Role: "robot"}},
		"message 0: ToolCallID is required":                     {schema.ToolMessage("", "")},
		`message 1 (role "user"): part 0 (image_url): URL or`:   user(image(schema.MessagePartCommon{})),
		"part 0 (image_url): URL and Base64Data are both set":   user(image(both)),
		"MIMEType is required":                                  user(image(inBase64("AAAA", ""))),
		"part 0 (image_url): the part is empty":                 user(schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL}),
		"part 0 (tool_search_result): the Chat Completions API": user(schema.MessageInputPart{Type: schema.ChatMessagePartTypeToolSearchResult}),
		"AssistantGenMultiContent is for messages of the": {{Role: schema.User,
			AssistantGenMultiContent: []schema.MessageOutputPart{{}}}},
		"UserInputMultiContent is not for messages of the": {{Role: schema.Assistant,
			UserInputMultiContent: []schema.MessageInputPart{text("")}}},
		`message 0 (role "assistant"): part 0 (image_url): URL or`: {{Role: schema.Assistant,
			AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL,
				Image: new(schema.MessageOutputImage)}}}},
	} {
		_, err := m.Generate(context.Background(), in)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "openai: ")
	}
}

func TestMessages_InputIsNotChanged(t *testing.T) {
	in := []*schema.Message{
		{Role: schema.User, Content: "a", UserInputMultiContent: make([]schema.MessageInputPart, 1, 9)},
		callOf("1"),
		{Role: schema.Tool, ToolCallID: "1",
			UserInputMultiContent: []schema.MessageInputPart{image(inBase64("AAAA", "image/png"))}},
	}
	in[0].UserInputMultiContent[0] = text("b")
	before := in[0].String() + in[2].String()
	sentMessages(t, unchanged, in...)
	require.Equal(t, before, in[0].String()+in[2].String())
}
