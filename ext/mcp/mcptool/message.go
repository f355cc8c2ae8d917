package mcptool

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/schema"
)

// message makes a message for a model from blocks that a server gives, which become parts as blocks of results do.
// Texts alone are the content of the message.
func (c *converter) message(role mcp.Role, blocks ...mcp.Content) (*schema.Message, error) {
	c.parts = nil
	for _, block := range blocks {
		switch block.(type) {
		case nil, *mcp.ToolUseContent, *mcp.ToolResultContent:
			return nil, fmt.Errorf("a message with a block of %T", block)
		}
		c.add(block)
	}
	var texts []string
	for _, p := range c.parts {
		if p.Type == schema.ToolPartTypeText {
			texts = append(texts, p.Text)
		}
	}
	plain := len(texts) == len(c.parts)
	switch {
	case role == "assistant" && plain:
		return schema.AssistantMessage(strings.Join(texts, "\n"), nil), nil
	case role == "assistant":
		return assistantMessage(c.parts)
	case plain:
		return schema.UserMessage(strings.Join(texts, "\n")), nil
	}
	return userMessage(c.parts), nil
}

func userMessage(parts []schema.ToolOutputPart) *schema.Message {
	message := &schema.Message{Role: schema.User}
	for _, p := range parts {
		part := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text}
		switch {
		case p.Image != nil:
			part.Type = schema.ChatMessagePartTypeImageURL
			part.Image = &schema.MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
		case p.Audio != nil:
			part.Type = schema.ChatMessagePartTypeAudioURL
			part.Audio = &schema.MessageInputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
		case p.Video != nil:
			part.Type = schema.ChatMessagePartTypeVideoURL
			part.Video = &schema.MessageInputVideo{MessagePartCommon: p.Video.MessagePartCommon}
		case p.File != nil:
			part.Type = schema.ChatMessagePartTypeFileURL
			part.File = &schema.MessageInputFile{MessagePartCommon: p.File.MessagePartCommon}
		}
		message.UserInputMultiContent = append(message.UserInputMultiContent, part)
	}
	return message
}

func assistantMessage(parts []schema.ToolOutputPart) (*schema.Message, error) {
	message := &schema.Message{Role: schema.Assistant}
	for _, p := range parts {
		part := schema.MessageOutputPart{Type: schema.ChatMessagePartTypeText, Text: p.Text}
		switch {
		case p.Image != nil:
			part.Type = schema.ChatMessagePartTypeImageURL
			part.Image = &schema.MessageOutputImage{MessagePartCommon: p.Image.MessagePartCommon}
		case p.Audio != nil:
			part.Type = schema.ChatMessagePartTypeAudioURL
			part.Audio = &schema.MessageOutputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
		case p.Video != nil:
			part.Type = schema.ChatMessagePartTypeVideoURL
			part.Video = &schema.MessageOutputVideo{MessagePartCommon: p.Video.MessagePartCommon}
		case p.File != nil:
			return nil, fmt.Errorf("a message of the assistant with a file (%s)", oneLine(p.File.MIMEType))
		}
		message.AssistantGenMultiContent = append(message.AssistantGenMultiContent, part)
	}
	return message, nil
}
