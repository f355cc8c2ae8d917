package schema

import (
	"context"
	"maps"
)

// Format renders the message as a template in the given language and returns it as the only message of a list. The
// receiver does not change, so one template may be rendered by many goroutines.
//
// Rendered are the blocks of users: texts, URLs, base64 data and names of files. All else is copied. The context is
// not used. The first error ends it, and names the field; for a format type that there is not it is "unknown format
// type".
func (m *AgenticMessage) Format(
	_ context.Context, vs map[string]any, formatType FormatType,
) ([]*AgenticMessage, error) {
	if m == nil {
		return nil, errNilTemplate
	}
	r := newRenderer(vs, formatType)
	rendered := *m
	rendered.Extra = maps.Clone(m.Extra)
	if len(m.ContentBlocks) > 0 {
		rendered.ContentBlocks = make([]*ContentBlock, len(m.ContentBlocks))
	}
	for i, b := range m.ContentBlocks {
		if b != nil {
			block := *b
			r.block(&block, i)
			rendered.ContentBlocks[i] = &block
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return []*AgenticMessage{&rendered}, nil
}

// block renders the payload of a block of the user, on a copy of it.
func (r *renderer) block(b *ContentBlock, i int) {
	switch {
	case b.Type == ContentBlockTypeUserInputText && b.UserInputText != nil:
		b.UserInputText = clonePointer(b.UserInputText)
		r.text(&b.UserInputText.Text, contentBlocks, i, "user_input_text.text")
	case b.Type == ContentBlockTypeUserInputImage && b.UserInputImage != nil:
		b.UserInputImage = clonePointer(b.UserInputImage)
		r.media(&b.UserInputImage.URL, &b.UserInputImage.Base64Data, i, "user_input_image")
	case b.Type == ContentBlockTypeUserInputAudio && b.UserInputAudio != nil:
		b.UserInputAudio = clonePointer(b.UserInputAudio)
		r.media(&b.UserInputAudio.URL, &b.UserInputAudio.Base64Data, i, "user_input_audio")
	case b.Type == ContentBlockTypeUserInputVideo && b.UserInputVideo != nil:
		b.UserInputVideo = clonePointer(b.UserInputVideo)
		r.media(&b.UserInputVideo.URL, &b.UserInputVideo.Base64Data, i, "user_input_video")
	case b.Type == ContentBlockTypeUserInputFile && b.UserInputFile != nil:
		b.UserInputFile = clonePointer(b.UserInputFile)
		r.media(&b.UserInputFile.URL, &b.UserInputFile.Base64Data, i, "user_input_file")
		r.text(&b.UserInputFile.Name, contentBlocks, i, "user_input_file.name")
	}
}

const contentBlocks = "content_blocks"

func (r *renderer) media(url, base64 *string, i int, payload string) {
	r.text(url, contentBlocks, i, payload+".url")
	r.text(base64, contentBlocks, i, payload+".base64_data")
}
