package runlog

import (
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

// partsSize estimates the memory of the parts of a result in bytes.
func partsSize(parts []schema.ToolOutputPart) (n int) {
	for i := range parts {
		p := &parts[i]
		n += 64 + len(p.Text) + extraSize(p.Extra)
		if media := commonOf(p); media != nil {
			n += dataSize(media)
		}
	}
	return n
}

// extraSize estimates the memory of what is attached to a part or block.
func extraSize(extra map[string]any) (n int) {
	for key, value := range extra {
		n += 32 + len(key)
		switch v := value.(type) {
		case string:
			n += len(v)
		case json.RawMessage:
			n += len(v)
		case nil, bool, int, int64, float64:
		default:
			n += jsonSize(v)
		}
	}
	return n
}

// jsonSize returns the length of a value as JSON.
func jsonSize(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// commonOf returns the part that all media parts of a result share, nil for a text.
func commonOf(p *schema.ToolOutputPart) *schema.MessagePartCommon {
	switch {
	case p.Image != nil:
		return &p.Image.MessagePartCommon
	case p.Audio != nil:
		return &p.Audio.MessagePartCommon
	case p.Video != nil:
		return &p.Video.MessagePartCommon
	case p.File != nil:
		return &p.File.MessagePartCommon
	}
	return nil
}

func messagesSize(ms []Message) (n int) {
	for _, m := range ms {
		n += messageSize(m)
	}
	return n
}

// messageSize estimates the memory of a message in bytes.
func messageSize(m Message) int {
	n := 128
	switch {
	case m.Chat != nil:
		n += len(m.Chat.Content) + len(m.Chat.ReasoningContent)
		for i := range m.Chat.ToolCalls {
			n += 64 + len(m.Chat.ToolCalls[i].Function.Arguments)
		}
		for i := range m.Chat.UserInputMultiContent {
			n += inputPartSize(&m.Chat.UserInputMultiContent[i])
		}
		for i := range m.Chat.AssistantGenMultiContent {
			p := &m.Chat.AssistantGenMultiContent[i]
			n += 64 + len(p.Text)
			if p.Image != nil {
				n += dataSize(&p.Image.MessagePartCommon)
			}
			if p.Audio != nil {
				n += dataSize(&p.Audio.MessagePartCommon)
			}
			if p.Video != nil {
				n += dataSize(&p.Video.MessagePartCommon)
			}
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			n += 128 + blockText(b) + blockMedia(b)
		}
	}
	return n
}

func inputPartSize(p *schema.MessageInputPart) int {
	n := 64 + len(p.Text)
	switch {
	case p.Image != nil:
		n += dataSize(&p.Image.MessagePartCommon)
	case p.Audio != nil:
		n += dataSize(&p.Audio.MessagePartCommon)
	case p.Video != nil:
		n += dataSize(&p.Video.MessagePartCommon)
	case p.File != nil:
		n += dataSize(&p.File.MessagePartCommon)
	}
	return n
}

func dataSize(c *schema.MessagePartCommon) (n int) {
	if c.Base64Data != nil {
		n = len(*c.Base64Data)
	}
	if c.URL != nil { // perhaps with the data in it
		n += len(*c.URL)
	}
	return n
}

// blockMedia estimates the memory of a block without its text.
func blockMedia(b *schema.ContentBlock) (n int) {
	if b == nil {
		return 0
	}
	n = extraSize(b.Extra)
	switch {
	case b.UserInputImage != nil:
		n += len(b.UserInputImage.Base64Data) + len(b.UserInputImage.URL)
	case b.UserInputAudio != nil:
		n += len(b.UserInputAudio.Base64Data) + len(b.UserInputAudio.URL)
	case b.UserInputVideo != nil:
		n += len(b.UserInputVideo.Base64Data) + len(b.UserInputVideo.URL)
	case b.UserInputFile != nil:
		n += len(b.UserInputFile.Base64Data) + len(b.UserInputFile.URL)
	case b.AssistantGenImage != nil:
		n += len(b.AssistantGenImage.Base64Data) + len(b.AssistantGenImage.URL)
	case b.AssistantGenAudio != nil:
		n += len(b.AssistantGenAudio.Base64Data) + len(b.AssistantGenAudio.URL)
	case b.AssistantGenVideo != nil:
		n += len(b.AssistantGenVideo.Base64Data) + len(b.AssistantGenVideo.URL)
	case b.FunctionToolResult != nil:
		for _, c := range b.FunctionToolResult.Content {
			n += resultMedia(c)
		}
	case b.AssistantGenText == nil && b.UserInputText == nil && b.Reasoning == nil && b.FunctionToolCall == nil:
		n += jsonSize(b) // those that providers execute
	}
	return n
}

// resultMedia is blockMedia of a part of a result.
func resultMedia(c *schema.FunctionToolResultContentBlock) (n int) {
	if c == nil {
		return 0
	}
	n = 64 + extraSize(c.Extra)
	switch {
	case c.Image != nil:
		n += len(c.Image.Base64Data) + len(c.Image.URL)
	case c.Audio != nil:
		n += len(c.Audio.Base64Data) + len(c.Audio.URL)
	case c.Video != nil:
		n += len(c.Video.Base64Data) + len(c.Video.URL)
	case c.File != nil:
		n += len(c.File.Base64Data) + len(c.File.URL)
	}
	return n
}

// blockText is the number of bytes of text that a block has.
func blockText(b *schema.ContentBlock) int {
	switch {
	case b == nil:
	case b.AssistantGenText != nil:
		return len(b.AssistantGenText.Text)
	case b.UserInputText != nil:
		return len(b.UserInputText.Text)
	case b.Reasoning != nil:
		return len(b.Reasoning.Text)
	case b.FunctionToolCall != nil:
		return len(b.FunctionToolCall.Arguments)
	case b.FunctionToolResult != nil:
		n := 0
		for _, c := range b.FunctionToolResult.Content {
			if c != nil && c.Text != nil {
				n += len(c.Text.Text)
			}
		}
		return n
	}
	return 0
}
