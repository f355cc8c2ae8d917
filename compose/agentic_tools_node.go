package compose

import (
	"context"
	"errors"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// AgenticToolsNode is a [ToolsNode] for agentic messages: it runs the function calls of an assistant message and gives
// one user message with the result for each, in the order of the calls.
type AgenticToolsNode struct {
	tools *ToolsNode
}

// NewAgenticToolsNode makes an agentic tools node. See [NewToolNode].
func NewAgenticToolsNode(ctx context.Context, conf *ToolsNodeConfig) (*AgenticToolsNode, error) {
	tools, err := NewToolNode(ctx, conf)
	if err != nil {
		return nil, err
	}
	return &AgenticToolsNode{tools: tools}, nil
}

// GetType returns "".
func (a *AgenticToolsNode) GetType() string { return "" }

// InternalSetAgenticToolExecutionProvider is [InternalSetToolExecutionProvider] for an agentic tools node. The
// provider gets the calls as an assistant message.
func InternalSetAgenticToolExecutionProvider(
	atn *AgenticToolsNode,
	provider func(ctx context.Context, input *schema.Message) (map[string]*schema.StreamReader[string], map[string]*schema.StreamReader[*schema.ToolResult], error),
) {
	InternalSetToolExecutionProvider(atn.tools, provider)
}

var errNoAgenticTools = errors.New("the agentic tools node was not made by NewAgenticToolsNode")

// Invoke runs the calls of an assistant message and waits for all results.
func (a *AgenticToolsNode) Invoke(
	ctx context.Context, input *schema.AgenticMessage, opts ...ToolsNodeOption,
) ([]*schema.AgenticMessage, error) {
	if a.tools == nil {
		return nil, errNoAgenticTools
	}
	messages, err := a.tools.Invoke(ctx, callsMessage(input), opts...)
	if err != nil {
		return nil, err
	}
	out := make([]*schema.AgenticMessage, len(messages))
	for i, m := range messages {
		out[i] = resultMessage(m, nil)
	}
	return out, nil
}

// Stream starts the calls of an assistant message and returns their results as they come. See [ToolsNode.Stream]; the
// blocks have the place of their call as stream index.
func (a *AgenticToolsNode) Stream(
	ctx context.Context, input *schema.AgenticMessage, opts ...ToolsNodeOption,
) (*schema.StreamReader[[]*schema.AgenticMessage], error) {
	if a.tools == nil {
		return nil, errNoAgenticTools
	}
	s, err := a.tools.Stream(ctx, callsMessage(input), opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(s, func(chunk []*schema.Message) ([]*schema.AgenticMessage, error) {
		out := make([]*schema.AgenticMessage, len(chunk))
		for i, m := range chunk {
			if m != nil {
				out[i] = resultMessage(m, &schema.StreamingMeta{Index: i})
			}
		}
		return out, nil
	}), nil
}

// callsMessage takes the function calls out of a message.
func callsMessage(input *schema.AgenticMessage) *schema.Message {
	if input == nil {
		return nil
	}
	m := &schema.Message{Role: schema.Assistant}
	if word := model.FinishWord(input); model.FinishOf(word).CutOff() {
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: word}
	}
	for _, block := range input.ContentBlocks {
		if block == nil || block.FunctionToolCall == nil {
			continue
		}
		call := block.FunctionToolCall
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID:       call.CallID,
			Function: schema.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			Extra:    block.Extra,
		})
	}
	return m
}

// AgenticToolMessage turns the message of a tool result into an agentic one: a user message with one block.
func AgenticToolMessage(m *schema.Message) *schema.AgenticMessage { return resultMessage(m, nil) }

func resultMessage(m *schema.Message, meta *schema.StreamingMeta) *schema.AgenticMessage {
	block := resultBlock(m)
	block.StreamingMeta = meta
	block.Extra = m.Extra
	return &schema.AgenticMessage{
		Role:          schema.AgenticRoleTypeUser,
		ContentBlocks: []*schema.ContentBlock{block},
		Extra:         m.Extra,
	}
}

func resultBlock(m *schema.Message) *schema.ContentBlock {
	parts := m.UserInputMultiContent
	if len(parts) == 1 && parts[0].Type == schema.ChatMessagePartTypeToolSearchResult && parts[0].ToolSearchResult != nil {
		return schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
			CallID: m.ToolCallID, Name: m.ToolName, Result: parts[0].ToolSearchResult,
		})
	}
	result := &schema.FunctionToolResult{CallID: m.ToolCallID, Name: m.ToolName}
	for i := range parts {
		if content := resultContent(&parts[i]); content != nil {
			content.Extra = parts[i].Extra
			result.Content = append(result.Content, content)
		}
	}
	if len(parts) == 0 && m.Content != "" {
		result.Content = []*schema.FunctionToolResultContentBlock{{
			Type: schema.FunctionToolResultContentBlockTypeText,
			Text: &schema.UserInputText{Text: m.Content},
		}}
	}
	return schema.NewContentBlock(result)
}

// resultContent is a part of a tool's result as a content block, nil for a part that has no payload.
func resultContent(p *schema.MessageInputPart) *schema.FunctionToolResultContentBlock {
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
		return &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeText,
			Text: &schema.UserInputText{Text: p.Text},
		}
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil:
		return &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeImage,
			Image: &schema.UserInputImage{URL: deref(p.Image.URL), Base64Data: deref(p.Image.Base64Data),
				MIMEType: p.Image.MIMEType, Detail: p.Image.Detail},
		}
	case p.Type == schema.ChatMessagePartTypeAudioURL && p.Audio != nil:
		return &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeAudio,
			Audio: &schema.UserInputAudio{URL: deref(p.Audio.URL), Base64Data: deref(p.Audio.Base64Data),
				MIMEType: p.Audio.MIMEType},
		}
	case p.Type == schema.ChatMessagePartTypeVideoURL && p.Video != nil:
		return &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeVideo,
			Video: &schema.UserInputVideo{URL: deref(p.Video.URL), Base64Data: deref(p.Video.Base64Data),
				MIMEType: p.Video.MIMEType},
		}
	case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil:
		return &schema.FunctionToolResultContentBlock{
			Type: schema.FunctionToolResultContentBlockTypeFile,
			File: &schema.UserInputFile{URL: deref(p.File.URL), Base64Data: deref(p.File.Base64Data),
				MIMEType: p.File.MIMEType, Name: p.File.Name},
		}
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
