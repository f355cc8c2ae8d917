package serve

import (
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// messagesAs makes messages of a kind of ordinary ones.
func messagesAs[M adk.MessageType](messages []*schema.Message) ([]M, error) {
	if same, ok := any(messages).([]M); ok {
		return same, nil
	}
	converted := make([]M, len(messages))
	for i, m := range messages {
		agentic, err := agenticOf(m)
		if err != nil {
			return nil, err
		}
		converted[i] = any(agentic).(M)
	}
	return converted, nil
}

// agenticOf is an ordinary message of a client as an agentic one.
func agenticOf(m *schema.Message) (*schema.AgenticMessage, error) {
	switch m.Role {
	case schema.System:
		return schema.SystemAgenticMessage(m.Content), nil
	case schema.Tool:
		return schema.FunctionToolResultAgenticMessage(m.ToolCallID, m.ToolName, m.Content), nil
	case schema.Assistant:
		a := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
		if m.Content != "" {
			a.ContentBlocks = append(a.ContentBlocks, schema.NewContentBlock(&schema.AssistantGenText{Text: m.Content}))
		}
		for _, c := range m.ToolCalls {
			a.ContentBlocks = append(a.ContentBlocks, schema.NewContentBlock(&schema.FunctionToolCall{
				CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}))
		}
		return a, nil
	}
	a := &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser}
	if m.Content != "" || len(m.UserInputMultiContent) == 0 {
		a.ContentBlocks = append(a.ContentBlocks, schema.NewContentBlock(&schema.UserInputText{Text: m.Content}))
	}
	for i, p := range m.UserInputMultiContent {
		block := blockOf(p)
		if block == nil {
			return nil, fmt.Errorf("part %d of a message is of type %q, which agents on agentic messages do not take", i, p.Type)
		}
		a.ContentBlocks = append(a.ContentBlocks, block)
	}
	return a, nil
}

// blockOf is a part of a user's message as a block, nil if there is none for it.
func blockOf(p schema.MessageInputPart) *schema.ContentBlock {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	switch {
	case p.Image != nil:
		return schema.NewContentBlock(&schema.UserInputImage{URL: text(p.Image.URL), Base64Data: text(p.Image.Base64Data),
			MIMEType: p.Image.MIMEType, Detail: p.Image.Detail})
	case p.Audio != nil:
		return schema.NewContentBlock(&schema.UserInputAudio{URL: text(p.Audio.URL), Base64Data: text(p.Audio.Base64Data),
			MIMEType: p.Audio.MIMEType})
	case p.Video != nil:
		return schema.NewContentBlock(&schema.UserInputVideo{URL: text(p.Video.URL), Base64Data: text(p.Video.Base64Data),
			MIMEType: p.Video.MIMEType})
	case p.File != nil:
		return schema.NewContentBlock(&schema.UserInputFile{URL: text(p.File.URL), Base64Data: text(p.File.Base64Data),
			MIMEType: p.File.MIMEType, Name: p.File.Name})
	case p.Type == schema.ChatMessagePartTypeText:
		return schema.NewContentBlock(&schema.UserInputText{Text: p.Text})
	}
	return nil
}
