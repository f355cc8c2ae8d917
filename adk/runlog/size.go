package runlog

import "github.com/weftgo/weft/schema"

// partsSize estimates the memory of the parts of a result in bytes.
func partsSize(parts []schema.ToolOutputPart) (n int) {
	for i := range parts {
		p := &parts[i]
		n += 64 + len(p.Text)
		if media := commonOf(p); media != nil {
			n += dataSize(media)
		}
	}
	return n
}

// commonOf is what the media parts of a result share, nil for a text.
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
			n += 128 + blockText(b)
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

func dataSize(c *schema.MessagePartCommon) int {
	if c.Base64Data == nil {
		return 0
	}
	return len(*c.Base64Data)
}

// blockText is how many bytes of text a block has.
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
