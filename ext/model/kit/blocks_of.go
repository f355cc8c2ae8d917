package kit

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// BlocksOf makes an engine for agentic messages from one for chat messages: the engine of an API without blocks.
func BlocksOf(engine Engine[*schema.Message]) Engine[*schema.AgenticMessage] {
	return blocksEngine{engine}
}

type blocksEngine struct{ Engine[*schema.Message] }

func (e blocksEngine) Open(
	ctx context.Context, in []*schema.AgenticMessage, opts []model.Option, stream bool,
) (Chunks[*schema.AgenticMessage], error) {
	messages, err := BlocksToMessages(in)
	if err != nil {
		return nil, err
	}
	chunks, err := e.Engine.Open(ctx, messages, opts, stream)
	if err != nil {
		return nil, err
	}
	return &blockChunks{Chunks: chunks, whole: !stream}, nil
}

// BlocksToMessages returns a conversation of agentic messages as one of chat messages: a message of the user becomes a
// tool message for each result in it, and one message for the rest. What the provider of an answer ran itself is left
// out.
func BlocksToMessages(in []*schema.AgenticMessage) ([]*schema.Message, error) {
	if err := CheckHistory(in); err != nil {
		return nil, err
	}
	var out []*schema.Message
	for i, m := range in {
		messages, err := chatMessages(m)
		if err != nil {
			return nil, &HistoryError{Index: i, Reason: err.Error()}
		}
		out = append(out, messages...)
	}
	return out, nil
}

func chatMessages(m *schema.AgenticMessage) ([]*schema.Message, error) {
	if m.Role == schema.AgenticRoleTypeAssistant {
		return []*schema.Message{answerMessage(m)}, nil
	}
	role := schema.User
	if m.Role == schema.AgenticRoleTypeSystem {
		role = schema.System
	}
	var out []*schema.Message
	rest := &schema.Message{Role: role, Extra: m.Extra}
	for _, b := range m.ContentBlocks {
		switch {
		case b == nil:
		case b.FunctionToolResult != nil:
			out = append(out, resultMessage(b))
		case b.ToolSearchFunctionToolResult != nil:
			return nil, errors.New("it has the result of a tool search, which this API does not know")
		case b.MCPToolApprovalResponse != nil:
			return nil, errors.New("it answers a provider's approval request, which this API does not know")
		default:
			rest.UserInputMultiContent = append(rest.UserInputMultiContent, inputPart(b))
		}
	}
	if parts := rest.UserInputMultiContent; len(parts) == 1 && parts[0].Type == schema.ChatMessagePartTypeText &&
		len(parts[0].Extra) == 0 {
		rest.Content, rest.UserInputMultiContent = parts[0].Text, nil
	}
	if len(rest.UserInputMultiContent) > 0 || rest.Content != "" || len(out) == 0 {
		out = append(out, rest)
	}
	return out, nil
}

// answerMessage returns an answer as a chat message.
func answerMessage(m *schema.AgenticMessage) *schema.Message {
	c := new(chatChunks)
	out := c.message(m)
	var signed []schema.MessageOutputPart // is of no use to an API without blocks
	for _, p := range out.AssistantGenMultiContent {
		if p.Type != schema.ChatMessagePartTypeReasoning {
			signed = append(signed, p)
		}
	}
	out.AssistantGenMultiContent = signed
	for i := range out.ToolCalls {
		call := &out.ToolCalls[i]
		if call.Index != nil {
			call.Index, call.Extra = nil, c.extras[*call.Index]
		}
	}
	return out
}

func resultMessage(b *schema.ContentBlock) *schema.Message {
	r := b.FunctionToolResult
	m := schema.ToolMessage("", r.CallID, schema.WithToolName(r.Name))
	m.Extra = b.Extra
	var texts []string
	for _, part := range r.Content {
		switch {
		case part == nil:
		case part.Text != nil:
			texts = append(texts, part.Text.Text)
		default:
			m.UserInputMultiContent = append(m.UserInputMultiContent, inputPart(&schema.ContentBlock{
				UserInputImage: part.Image, UserInputAudio: part.Audio, UserInputVideo: part.Video, UserInputFile: part.File,
				Extra: part.Extra,
			}))
		}
	}
	m.Content = strings.Join(texts, "\n")
	return m
}

// blockChunks are the chunks of a message, converted to chunks of an answer in blocks.
type blockChunks struct {
	Chunks[*schema.Message]
	// whole has the answer as one chunk of finished blocks, however it came.
	whole, ended bool
	// last is the block that text or thinking was added to, and next the index of the one that comes.
	last  schema.ContentBlockType
	next  int
	calls map[int]int // the index of the block, by the index of the call
}

// Next implements [Chunks].
func (c *blockChunks) Next() (*schema.AgenticMessage, error) {
	m, err := c.message()
	if err != nil {
		return nil, err
	}
	out := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, Extra: m.Extra}
	if m.ResponseMeta != nil {
		out.ResponseMeta = agenticMeta(m.ResponseMeta)
		if reason := m.ResponseMeta.FinishReason; reason != "" {
			out.Extra = withText(m.Extra, finishKey, reason)
		}
	}
	c.addBlocks(out, m)
	return out, nil
}

func (c *blockChunks) message() (*schema.Message, error) {
	if !c.whole {
		return c.Chunks.Next()
	}
	if c.ended {
		return nil, io.EOF
	}
	c.ended = true
	return Join(c.Chunks)
}

func (c *blockChunks) addBlocks(out *schema.AgenticMessage, m *schema.Message) {
	add := func(b *schema.ContentBlock, index int) {
		if !c.whole {
			b.StreamingMeta = &schema.StreamingMeta{Index: index}
		}
		out.ContentBlocks = append(out.ContentBlocks, b)
	}
	if m.ReasoningContent != "" {
		add(schema.NewContentBlock(&schema.Reasoning{Text: m.ReasoningContent}), c.run(schema.ContentBlockTypeReasoning))
	}
	if m.Content != "" {
		add(textBlock(m.Content), c.run(schema.ContentBlockTypeAssistantGenText))
	}
	for _, p := range m.AssistantGenMultiContent {
		if b := mediaBlock(p); b != nil {
			add(b, c.run(b.Type))
		}
	}
	for _, call := range m.ToolCalls {
		add(callBlock(call), c.callIndex(call))
	}
}

// run returns the index of the block that a piece of a type belongs to: the one before, if that is of the type.
func (c *blockChunks) run(t schema.ContentBlockType) int {
	if c.last != t || t == schema.ContentBlockTypeAssistantGenImage || t == schema.ContentBlockTypeAssistantGenVideo {
		c.last = t
		c.next++
	}
	return c.next - 1
}

func (c *blockChunks) callIndex(call schema.ToolCall) int {
	c.last = schema.ContentBlockTypeFunctionToolCall
	if call.Index == nil || c.whole {
		c.next++
		return c.next - 1
	}
	if index, ok := c.calls[*call.Index]; ok {
		return index
	}
	if c.calls == nil {
		c.calls = map[int]int{}
	}
	c.calls[*call.Index] = c.next
	c.next++
	return c.next - 1
}
