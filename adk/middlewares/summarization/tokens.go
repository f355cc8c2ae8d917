package summarization

import (
	"context"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/schema"
)

const (
	// bytesPerToken is the average number of bytes of a token.
	bytesPerToken = 4
	// tokensPerMedium is the number of tokens that an image, a video, a piece of audio or a file counts as.
	tokensPerMedium = 2000
)

// countTokens is the default token counter. It looks only at what came after the last answer with a token count.
func (m *TypedMiddleware[M]) countTokens(_ context.Context, input *TypedTokenCounterInput[M]) (int, error) {
	total := m.tools.Tokens(input.Tools)
	for _, x := range slices.Backward(input.Messages) {
		if u := message.Usage(x); u != nil && u.TotalTokens > 0 && message.KindOf(x) == message.Assistant {
			return total + u.TotalTokens, nil
		}
		total += estimate(x)
	}
	return total, nil
}

// estimate is the number of tokens that a message has.
func estimate[M adk.MessageType](m M) int {
	var s size
	switch m := any(m).(type) {
	case *schema.Message:
		s.chat(m)
	case *schema.AgenticMessage:
		s.agentic(m)
	}
	return s.bytes/bytesPerToken + s.media*tokensPerMedium
}

// size is the size of what a message has in it.
type size struct{ bytes, media int }

func (s *size) chat(m *schema.Message) {
	if m == nil {
		return
	}
	if m.Role == schema.Assistant {
		s.answer(m)
		return
	}
	if len(m.UserInputMultiContent) == 0 {
		s.bytes += len(m.Content)
	}
	for i := range m.UserInputMultiContent {
		switch p := &m.UserInputMultiContent[i]; {
		case p.Image != nil || p.Audio != nil || p.Video != nil || p.File != nil:
			s.media++
		case p.ToolSearchResult != nil:
			s.found(p.ToolSearchResult)
		default:
			s.bytes += len(p.Text)
		}
	}
}

// answer is an assistant message.
func (s *size) answer(m *schema.Message) {
	for i := range m.ToolCalls {
		s.bytes += len(m.ToolCalls[i].Function.Name) + len(m.ToolCalls[i].Function.Arguments)
	}
	if len(m.AssistantGenMultiContent) == 0 {
		s.bytes += len(m.Content) + len(m.ReasoningContent)
		return
	}
	reasoned := false
	for i := range m.AssistantGenMultiContent {
		switch p := &m.AssistantGenMultiContent[i]; {
		case p.Image != nil || p.Audio != nil || p.Video != nil:
			s.media++
		case p.Reasoning != nil:
			s.bytes += len(p.Reasoning.Text)
			reasoned = true
		default:
			s.bytes += len(p.Text)
		}
	}
	if !reasoned {
		s.bytes += len(m.ReasoningContent)
	}
}

func (s *size) agentic(m *schema.AgenticMessage) {
	if m == nil {
		return
	}
	for _, b := range m.ContentBlocks {
		if b != nil {
			s.block(b)
		}
	}
}

func (s *size) block(b *schema.ContentBlock) {
	switch {
	case b.UserInputText != nil:
		s.bytes += len(b.UserInputText.Text)
	case b.AssistantGenText != nil:
		s.bytes += len(b.AssistantGenText.Text)
	case b.Reasoning != nil:
		s.bytes += len(b.Reasoning.Text)
	case b.FunctionToolCall != nil:
		s.bytes += len(b.FunctionToolCall.Name) + len(b.FunctionToolCall.Arguments)
	case b.FunctionToolResult != nil:
		for _, c := range b.FunctionToolResult.Content {
			switch {
			case c == nil:
			case c.Text != nil:
				s.bytes += len(c.Text.Text)
			default:
				s.media++
			}
		}
	case b.ToolSearchFunctionToolResult != nil:
		s.found(b.ToolSearchFunctionToolResult.Result)
	case b.UserInputImage != nil, b.UserInputAudio != nil, b.UserInputVideo != nil, b.UserInputFile != nil,
		b.AssistantGenImage != nil, b.AssistantGenAudio != nil, b.AssistantGenVideo != nil:
		s.media++
	}
}

// found is the result of a tool search.
func (s *size) found(r *schema.ToolSearchResult) {
	if r == nil {
		return
	}
	for _, info := range r.Tools {
		if info == nil {
			continue
		}
		s.bytes += len(info.Name) + len(info.Desc)
		if js, err := info.ToJSONSchema(); err == nil && js != nil {
			if doc, err := json.Marshal(js); err == nil {
				s.bytes += len(doc)
			}
		}
	}
}
