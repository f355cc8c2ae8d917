package kit

import (
	"maps"

	"github.com/weftgo/weft/schema"
)

// InputParts returns the content of a message that is said to the model, in whichever of the places for it: the text
// first, then the parts.
func InputParts(m *schema.Message) []schema.MessageInputPart {
	parts := m.UserInputMultiContent
	if len(parts) == 0 {
		parts = DeprecatedParts(m)
	}
	if m.Content == "" {
		return parts
	}
	return append([]schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: m.Content}}, parts...)
}

// inputBlocks returns the content of a message that is said to the model as blocks.
func inputBlocks(m *schema.Message) []*schema.ContentBlock {
	var blocks []*schema.ContentBlock
	for _, p := range InputParts(m) {
		blocks = append(blocks, inputBlock(p))
	}
	return blocks
}

func inputBlock(p schema.MessageInputPart) *schema.ContentBlock {
	switch {
	case p.Image != nil:
		url, data, mime, extra := content(p.Image.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.UserInputImage{
			URL: url, Base64Data: data, MIMEType: mime, Detail: p.Image.Detail,
		}), extra)
	case p.Audio != nil:
		url, data, mime, extra := content(p.Audio.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.UserInputAudio{URL: url, Base64Data: data, MIMEType: mime}), extra)
	case p.Video != nil:
		url, data, mime, extra := content(p.Video.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.UserInputVideo{URL: url, Base64Data: data, MIMEType: mime}), extra)
	case p.File != nil:
		url, data, mime, extra := content(p.File.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.UserInputFile{
			URL: url, Base64Data: data, MIMEType: mime, Name: p.File.Name,
		}), extra)
	}
	return withExtra(schema.NewContentBlock(&schema.UserInputText{Text: p.Text}), p.Extra)
}

// inputPart is the part that [inputBlock] makes the block of.
func inputPart(b *schema.ContentBlock) schema.MessageInputPart {
	p := schema.MessageInputPart{Extra: b.Extra}
	switch {
	case b.UserInputImage != nil:
		i := b.UserInputImage
		p.Type = schema.ChatMessagePartTypeImageURL
		p.Image = &schema.MessageInputImage{MessagePartCommon: common(i.URL, i.Base64Data, i.MIMEType), Detail: i.Detail}
	case b.UserInputAudio != nil:
		a := b.UserInputAudio
		p.Type = schema.ChatMessagePartTypeAudioURL
		p.Audio = &schema.MessageInputAudio{MessagePartCommon: common(a.URL, a.Base64Data, a.MIMEType)}
	case b.UserInputVideo != nil:
		v := b.UserInputVideo
		p.Type = schema.ChatMessagePartTypeVideoURL
		p.Video = &schema.MessageInputVideo{MessagePartCommon: common(v.URL, v.Base64Data, v.MIMEType)}
	case b.UserInputFile != nil:
		f := b.UserInputFile
		p.Type = schema.ChatMessagePartTypeFileURL
		p.File = &schema.MessageInputFile{MessagePartCommon: common(f.URL, f.Base64Data, f.MIMEType), Name: f.Name}
	default:
		p.Type = schema.ChatMessagePartTypeText
		if b.UserInputText != nil {
			p.Text = b.UserInputText.Text
		}
	}
	return p
}

func withExtra(b *schema.ContentBlock, extra map[string]any) *schema.ContentBlock {
	b.Extra = extra
	return b
}

// content takes a medium apart. What is attached to it and to the part it stands in becomes one.
func content(c schema.MessagePartCommon, of map[string]any) (url, data, mime string, extra map[string]any) {
	if c.URL != nil {
		url = *c.URL
	}
	if c.Base64Data != nil {
		data = *c.Base64Data
	}
	if extra = of; len(c.Extra) > 0 {
		extra = maps.Clone(c.Extra)
		maps.Copy(extra, of)
	}
	return url, data, c.MIMEType, extra
}

func common(url, data, mime string) schema.MessagePartCommon {
	c := schema.MessagePartCommon{MIMEType: mime}
	if url != "" {
		c.URL = &url
	}
	if data != "" {
		c.Base64Data = &data
	}
	return c
}

// resultBlock returns a tool message as a block.
func resultBlock(m *schema.Message) *schema.ContentBlock {
	result := &schema.FunctionToolResult{CallID: m.ToolCallID, Name: m.ToolName}
	for _, p := range InputParts(m) {
		if p.ToolSearchResult != nil {
			return withExtra(schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
				CallID: m.ToolCallID, Name: m.ToolName, Result: p.ToolSearchResult,
			}), m.Extra)
		}
		b := inputBlock(p)
		part := &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeText, Extra: b.Extra,
			Text: b.UserInputText, Image: b.UserInputImage, Audio: b.UserInputAudio, Video: b.UserInputVideo,
			File: b.UserInputFile,
		}
		switch {
		case part.Image != nil:
			part.Type = schema.FunctionToolResultContentBlockTypeImage
		case part.Audio != nil:
			part.Type = schema.FunctionToolResultContentBlockTypeAudio
		case part.Video != nil:
			part.Type = schema.FunctionToolResultContentBlockTypeVideo
		case part.File != nil:
			part.Type = schema.FunctionToolResultContentBlockTypeFile
		}
		result.Content = append(result.Content, part)
	}
	return withExtra(schema.NewContentBlock(result), m.Extra)
}

// outputPart returns a medium of the model as a part.
func outputPart(b *schema.ContentBlock) schema.MessageOutputPart {
	p := schema.MessageOutputPart{Extra: b.Extra, StreamingMeta: partMeta(b)}
	switch {
	case b.AssistantGenImage != nil:
		i := b.AssistantGenImage
		p.Type = schema.ChatMessagePartTypeImageURL
		p.Image = &schema.MessageOutputImage{MessagePartCommon: common(i.URL, i.Base64Data, i.MIMEType)}
	case b.AssistantGenAudio != nil:
		a := b.AssistantGenAudio
		p.Type = schema.ChatMessagePartTypeAudioURL
		p.Audio = &schema.MessageOutputAudio{MessagePartCommon: common(a.URL, a.Base64Data, a.MIMEType)}
	case b.AssistantGenVideo != nil:
		v := b.AssistantGenVideo
		p.Type = schema.ChatMessagePartTypeVideoURL
		p.Video = &schema.MessageOutputVideo{MessagePartCommon: common(v.URL, v.Base64Data, v.MIMEType)}
	}
	return p
}

// mediaBlock is the block that [outputPart] makes the part of, nil for a part that is no medium.
func mediaBlock(p schema.MessageOutputPart) *schema.ContentBlock {
	switch {
	case p.Image != nil:
		url, data, mime, extra := content(p.Image.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.AssistantGenImage{URL: url, Base64Data: data, MIMEType: mime}), extra)
	case p.Audio != nil:
		url, data, mime, extra := content(p.Audio.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.AssistantGenAudio{URL: url, Base64Data: data, MIMEType: mime}), extra)
	case p.Video != nil:
		url, data, mime, extra := content(p.Video.MessagePartCommon, p.Extra)
		return withExtra(schema.NewContentBlock(&schema.AssistantGenVideo{URL: url, Base64Data: data, MIMEType: mime}), extra)
	}
	return nil
}
