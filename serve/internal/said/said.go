// Package said reads what models said, of both kinds of messages, for the protocols that show it.
package said

import (
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// Content holds the parts of a message of a model.
type Content struct {
	Text, Thought string
	// Media are images, audio and videos.
	Media []schema.MessagePartCommon
	Calls []schema.ToolCall
}

// ByModel reports whether a message is one of a model.
func ByModel(m *runlog.Message) bool {
	return m != nil && (m.Chat != nil && m.Chat.Role == schema.Assistant ||
		m.Agentic != nil && m.Agentic.Role == schema.AgenticRoleTypeAssistant)
}

// In reads a message. Of none, and of one without its text, it is empty.
func In(m *runlog.Message) (c Content) {
	switch {
	case m == nil:
	case m.Chat != nil:
		c.chat(m.Chat)
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			if b != nil {
				c.block(b)
			}
		}
	}
	return c
}

// Result is the result of a call.
type Result struct{ Call, Text string }

// Results returns the results in a message, none if it is no message of tools.
func Results(m *runlog.Message) (all []Result) {
	switch {
	case m == nil:
	case m.Chat != nil && m.Chat.Role == schema.Tool:
		text := m.Chat.Content
		for _, p := range m.Chat.UserInputMultiContent {
			text += p.Text
		}
		all = append(all, Result{m.Chat.ToolCallID, text})
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			if b != nil && b.FunctionToolResult != nil {
				all = append(all, Result{b.FunctionToolResult.CallID, textOf(b.FunctionToolResult)})
			}
		}
	}
	return all
}

func textOf(r *schema.FunctionToolResult) (text string) {
	for _, b := range r.Content {
		if b != nil && b.Text != nil {
			text += b.Text.Text
		}
	}
	return text
}

func (c *Content) chat(m *schema.Message) {
	c.Text, c.Thought, c.Calls = m.Content, m.ReasoningContent, m.ToolCalls
	for _, p := range m.AssistantGenMultiContent {
		switch {
		case p.Image != nil:
			c.Media = append(c.Media, p.Image.MessagePartCommon)
		case p.Audio != nil:
			c.Media = append(c.Media, p.Audio.MessagePartCommon)
		case p.Video != nil:
			c.Media = append(c.Media, p.Video.MessagePartCommon)
		case p.Type == schema.ChatMessagePartTypeText:
			c.Text += p.Text
		}
	}
}

func (c *Content) block(b *schema.ContentBlock) {
	switch {
	case b.AssistantGenText != nil:
		c.Text += b.AssistantGenText.Text
	case b.Reasoning != nil:
		c.Thought += b.Reasoning.Text
	case b.AssistantGenImage != nil:
		c.media(b.AssistantGenImage.URL, b.AssistantGenImage.Base64Data, b.AssistantGenImage.MIMEType)
	case b.AssistantGenAudio != nil:
		c.media(b.AssistantGenAudio.URL, b.AssistantGenAudio.Base64Data, b.AssistantGenAudio.MIMEType)
	case b.AssistantGenVideo != nil:
		c.media(b.AssistantGenVideo.URL, b.AssistantGenVideo.Base64Data, b.AssistantGenVideo.MIMEType)
	case b.FunctionToolCall != nil:
		c.Calls = append(c.Calls, schema.ToolCall{ID: b.FunctionToolCall.CallID, Function: schema.FunctionCall{
			Name: b.FunctionToolCall.Name, Arguments: b.FunctionToolCall.Arguments}})
	}
}

func (c *Content) media(url, data, mime string) {
	m := schema.MessagePartCommon{MIMEType: mime}
	if url != "" {
		m.URL = &url
	}
	if data != "" {
		m.Base64Data = &data
	}
	c.Media = append(c.Media, m)
}
