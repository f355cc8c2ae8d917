package schema

import (
	"context"
	"maps"
)

// Format renders the message as a template in the given language and returns it as the only message of a list. The
// receiver does not change, so one template may be rendered by many goroutines.
//
// Rendered are Content, the texts of MultiContent and UserInputMultiContent, and their URLs and base64 data. All else
// is copied. The context is not used. The first error ends it, and names the field; for a format type that there is
// not it is "unknown format type".
func (m *Message) Format(_ context.Context, vs map[string]any, formatType FormatType) ([]*Message, error) {
	if m == nil {
		return nil, errNilTemplate
	}
	r := newRenderer(vs, formatType)
	rendered := *m
	rendered.Extra = maps.Clone(m.Extra)
	r.text(&rendered.Content, "", 0, "content")
	if len(m.MultiContent) > 0 {
		rendered.MultiContent = cloneParts(m.MultiContent)
	}
	for i := range rendered.MultiContent {
		r.chatPart(&rendered.MultiContent[i], i)
	}
	if len(m.UserInputMultiContent) > 0 {
		rendered.UserInputMultiContent = make([]MessageInputPart, len(m.UserInputMultiContent))
	}
	for i := range m.UserInputMultiContent {
		rendered.UserInputMultiContent[i] = m.UserInputMultiContent[i].clone()
		r.inputPart(&rendered.UserInputMultiContent[i], i)
	}
	if r.err != nil {
		return nil, r.err
	}
	return []*Message{&rendered}, nil
}

func (r *renderer) chatPart(p *ChatMessagePart, i int) {
	const list = "multi_content"
	switch {
	case p.Type == ChatMessagePartTypeText:
		r.text(&p.Text, list, i, "text")
	case p.Type == ChatMessagePartTypeImageURL && p.ImageURL != nil:
		r.text(&p.ImageURL.URL, list, i, "image_url.url")
	case p.Type == ChatMessagePartTypeAudioURL && p.AudioURL != nil:
		r.text(&p.AudioURL.URL, list, i, "audio_url.url")
	case p.Type == ChatMessagePartTypeVideoURL && p.VideoURL != nil:
		r.text(&p.VideoURL.URL, list, i, "video_url.url")
	case p.Type == ChatMessagePartTypeFileURL && p.FileURL != nil:
		r.text(&p.FileURL.URL, list, i, "file_url.url")
	}
}

func (r *renderer) inputPart(p *MessageInputPart, i int) {
	switch {
	case p.Type == ChatMessagePartTypeText:
		r.text(&p.Text, inputParts, i, "text")
	case p.Type == ChatMessagePartTypeImageURL && p.Image != nil:
		r.inputMedia(&p.Image.MessagePartCommon, i, "image")
	case p.Type == ChatMessagePartTypeAudioURL && p.Audio != nil:
		r.inputMedia(&p.Audio.MessagePartCommon, i, "audio")
	case p.Type == ChatMessagePartTypeVideoURL && p.Video != nil:
		r.inputMedia(&p.Video.MessagePartCommon, i, "video")
	case p.Type == ChatMessagePartTypeFileURL && p.File != nil:
		r.inputMedia(&p.File.MessagePartCommon, i, "file")
	}
}

const inputParts = "user_input_multi_content"

func (r *renderer) inputMedia(media *MessagePartCommon, i int, kind string) {
	r.optional(media.URL, inputParts, i, kind+".url")
	r.optional(media.Base64Data, inputParts, i, kind+".base64data")
}
