package agui

import (
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// contentOf is what a message says, thinks and calls.
func contentOf(m *runlog.Message) (text, thought string, calls []schema.ToolCall) {
	switch {
	case m == nil:
	case m.Chat != nil:
		text, thought, calls = m.Chat.Content, m.Chat.ReasoningContent, m.Chat.ToolCalls
		for _, p := range m.Chat.AssistantGenMultiContent {
			text += p.Text
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				text += b.AssistantGenText.Text
			case b.Reasoning != nil:
				thought += b.Reasoning.Text
			case b.FunctionToolCall != nil:
				calls = append(calls, schema.ToolCall{ID: b.FunctionToolCall.CallID, Function: schema.FunctionCall{
					Name: b.FunctionToolCall.Name, Arguments: b.FunctionToolCall.Arguments}})
			}
		}
	}
	return text, thought, calls
}

// mediaOf is a part of a result that is no text, nil for one that is.
func mediaOf(p schema.ToolOutputPart) map[string]any {
	part := func(kind string, m schema.MessagePartCommon) map[string]any {
		source := map[string]any{"type": "url", "mimeType": m.MIMEType}
		switch {
		case m.Base64Data != nil:
			source["type"], source["value"] = "data", *m.Base64Data
		case m.URL != nil:
			source["value"] = *m.URL
		default:
			return nil
		}
		return map[string]any{"type": kind, "source": source}
	}
	switch {
	case p.Image != nil:
		return part("image", p.Image.MessagePartCommon)
	case p.Audio != nil:
		return part("audio", p.Audio.MessagePartCommon)
	case p.Video != nil:
		return part("video", p.Video.MessagePartCommon)
	case p.File != nil:
		return part("document", p.File.MessagePartCommon)
	}
	return nil
}
