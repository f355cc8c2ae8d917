package aisdk

import (
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// content is what a message of a model has.
type content struct {
	text, thought string
	files         []chunk
	calls         []schema.ToolCall
}

// maxFile is how long the data of a file in a message may be, in base64.
const maxFile = 4 << 20 / 3

func (c *content) file(m schema.MessagePartCommon) {
	url := ""
	switch {
	case m.URL != nil:
		url = *m.URL
	case m.Base64Data != nil && len(*m.Base64Data) <= maxFile:
		url = "data:" + m.MIMEType + ";base64," + *m.Base64Data
	}
	if url != "" {
		c.files = append(c.files, chunk{"type": "file", "url": url, "mediaType": m.MIMEType})
	}
}

func contentOf(m *runlog.Message) (c content) {
	switch {
	case m.Chat != nil:
		c.text, c.thought, c.calls = m.Chat.Content, m.Chat.ReasoningContent, m.Chat.ToolCalls
		for _, p := range m.Chat.AssistantGenMultiContent {
			switch {
			case p.Image != nil:
				c.file(p.Image.MessagePartCommon)
			case p.Audio != nil:
				c.file(p.Audio.MessagePartCommon)
			case p.Video != nil:
				c.file(p.Video.MessagePartCommon)
			case p.Type == schema.ChatMessagePartTypeText:
				c.text += p.Text
			}
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				c.text += b.AssistantGenText.Text
			case b.Reasoning != nil:
				c.thought += b.Reasoning.Text
			case b.AssistantGenImage != nil:
				i := b.AssistantGenImage
				c.file(schema.MessagePartCommon{URL: orNil(i.URL), Base64Data: orNil(i.Base64Data), MIMEType: i.MIMEType})
			case b.FunctionToolCall != nil:
				c.calls = append(c.calls, schema.ToolCall{ID: b.FunctionToolCall.CallID,
					Function: schema.FunctionCall{Name: b.FunctionToolCall.Name, Arguments: b.FunctionToolCall.Arguments}})
			}
		}
	}
	return c
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func isAnswer(m *runlog.Message) bool {
	return m.Chat != nil && m.Chat.Role == schema.Assistant || m.Agentic != nil && m.Agentic.Role == schema.AgenticRoleTypeAssistant
}
