package openai

//lint:file-ignore SA1019 the deprecated form is what is tested

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestMessages_DeprecatedParts(t *testing.T) {
	parts := []schema.ChatMessagePart{
		{Type: schema.ChatMessagePartTypeText, Text: "a"},
		{Type: schema.ChatMessagePartTypeImageURL,
			ImageURL: &schema.ChatMessageImageURL{URL: "https://i", Detail: schema.ImageURLDetailHigh}},
		{Type: schema.ChatMessagePartTypeAudioURL, AudioURL: &schema.ChatMessageAudioURL{URI: "data:audio/wav;base64,AAAA"}},
		{Type: schema.ChatMessagePartTypeVideoURL, VideoURL: &schema.ChatMessageVideoURL{URL: "https://v"}},
		{Type: schema.ChatMessagePartTypeFileURL, FileURL: &schema.ChatMessageFileURL{URI: "file-1", Name: "n"}},
	}
	got := sentMessages(t, unchanged, &schema.Message{Role: schema.User, MultiContent: parts},
		&schema.Message{Role: schema.Assistant, MultiContent: parts[:2]})
	require.JSONEq(t, `[{"role":"user","content":[
		{"type":"text","text":"a"},
		{"type":"image_url","image_url":{"url":"https://i","detail":"high"}},
		{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},
		{"type":"video_url","video_url":{"url":"https://v"}},
		{"type":"file","file":{"file_id":"file-1"}}]},
		{"role":"assistant","content":[
		{"type":"text","text":"a"},
		{"type":"image_url","image_url":{"url":"https://i","detail":"high"}}]}]`, got)
}

func TestMessages_PartsOfBothForms(t *testing.T) {
	_, err := newModel(t, whole("{}")).Generate(t.Context(), []*schema.Message{{
		Role: schema.User, MultiContent: []schema.ChatMessagePart{{}},
		UserInputMultiContent: []schema.MessageInputPart{text("")},
	}})
	require.ErrorContains(t, err, "MultiContent and UserInputMultiContent are both set")
}
