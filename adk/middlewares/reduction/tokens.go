package reduction

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// bytesPerToken is the average number of bytes of a token.
const bytesPerToken = 4

// estimate is the default token counter. It builds no texts, but for blocks that it has not seen before.
func (m *middleware[M]) estimate(_ context.Context, messages []M, tools []*schema.ToolInfo) (int64, error) {
	total := m.tools.Tokens(tools)
	for _, message := range messages {
		switch message := any(message).(type) {
		case *schema.Message:
			total += chatSize(message) / bytesPerToken
		case *schema.AgenticMessage:
			total += m.agenticTokens(message)
		}
	}
	return int64(total), nil
}

// chatSize is the length of a message as lines of text.
func chatSize(m *schema.Message) int {
	if m == nil {
		return 0
	}
	size := len(m.Role) + len(m.ReasoningContent) + len(m.Content) + 3
	if m.Role == schema.Assistant {
		for i := range m.ToolCalls {
			size += len(m.ToolCalls[i].Function.Name) + 1 + len(m.ToolCalls[i].Function.Arguments)
		}
	}
	//lint:ignore SA1019 stored messages still have it
	for i := range m.MultiContent {
		//lint:ignore SA1019 as above
		size += lineSize(m.MultiContent[i].Type, m.MultiContent[i].Text)
	}
	for i := range m.UserInputMultiContent {
		size += lineSize(m.UserInputMultiContent[i].Type, m.UserInputMultiContent[i].Text)
	}
	for i := range m.AssistantGenMultiContent {
		size += lineSize(m.AssistantGenMultiContent[i].Type, m.AssistantGenMultiContent[i].Text)
	}
	return size
}

func lineSize(kind schema.ChatMessagePartType, text string) int {
	if kind != schema.ChatMessagePartTypeText {
		return 0
	}
	return len(text) + 1
}

func (m *middleware[M]) agenticTokens(message *schema.AgenticMessage) int {
	if message == nil {
		return 0
	}
	total := len(message.Role) / bytesPerToken
	for _, b := range message.ContentBlocks {
		if b != nil {
			total += m.blocks.Of(b, func(b *schema.ContentBlock) int { return len(b.String()) }) / bytesPerToken
		}
	}
	return total
}
