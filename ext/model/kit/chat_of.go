package kit

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// ChatOf makes an engine for chat messages of one for agentic messages. Nothing is lost on the way: what a message has no
// field for, and the order of the blocks, goes into its Extra and back from there.
func ChatOf(engine Engine[*schema.AgenticMessage]) Engine[*schema.Message] { return chatEngine{engine} }

type chatEngine struct{ Engine[*schema.AgenticMessage] }

func (e chatEngine) Open(
	ctx context.Context, in []*schema.Message, opts []model.Option, stream bool,
) (Chunks[*schema.Message], error) {
	blocks, err := MessagesToBlocks(in)
	if err != nil {
		return nil, err
	}
	chunks, err := e.Engine.Open(ctx, blocks, opts, stream)
	if err != nil {
		return nil, err
	}
	return &chatChunks{Chunks: chunks}, nil
}

// MessagesToBlocks returns a conversation of chat messages as one of agentic messages, each as one.
func MessagesToBlocks(in []*schema.Message) ([]*schema.AgenticMessage, error) {
	if err := CheckHistory(in); err != nil {
		return nil, err
	}
	out := make([]*schema.AgenticMessage, len(in))
	for i, m := range in {
		out[i] = &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, Extra: m.Extra}
		switch m.Role {
		case schema.System:
			out[i].Role = schema.AgenticRoleTypeSystem
			out[i].ContentBlocks = inputBlocks(m)
		case schema.User:
			out[i].ContentBlocks = inputBlocks(m)
		case schema.Tool:
			out[i].ContentBlocks = []*schema.ContentBlock{resultBlock(m)}
		case schema.Assistant:
			out[i].Role = schema.AgenticRoleTypeAssistant
			out[i].ContentBlocks = assistantBlocks(m)
			out[i].ResponseMeta = agenticMeta(m.ResponseMeta)
			if m.ResponseMeta != nil && m.ResponseMeta.FinishReason != "" {
				out[i].Extra = withText(m.Extra, finishKey, m.ResponseMeta.FinishReason)
			}
		}
	}
	return out, nil
}

func agenticMeta(meta *schema.ResponseMeta) *schema.AgenticResponseMeta {
	if meta == nil {
		return nil
	}
	return &schema.AgenticResponseMeta{
		TokenUsage: meta.Usage, ID: meta.ID, Model: meta.Model, Provider: meta.Provider,
	}
}

// withText returns an Extra with one more text.
func withText(extra map[string]any, key, text string) map[string]any {
	with := make(map[string]any, len(extra)+1)
	for k, v := range extra {
		with[k] = v
	}
	with[key] = text
	return with
}

// chatChunks are the chunks of an answer in blocks, converted to chunks of a message.
type chatChunks struct {
	Chunks[*schema.AgenticMessage]
	all   schema.AgenticMessageAccumulator
	calls map[int]int // the place of a call among the calls, by the index of its block
	// signed counts the parts with signatures of blocks that have no index. Without one of their own they would become
	// one part when messages are joined.
	signed int
	// extras has what is attached to streamed calls, by their place.
	extras map[int]map[string]any
	ended  bool
}

// Next implements [Chunks]. Behind the chunks of the answer comes one with its layout, if there is one.
func (c *chatChunks) Next() (*schema.Message, error) {
	if c.ended {
		return nil, io.EOF
	}
	m, err := c.Chunks.Next()
	switch {
	case err == io.EOF:
		c.ended = true
		return c.last()
	case err != nil:
		return nil, err
	}
	if err := c.all.Add(m); err != nil {
		return nil, err
	}
	return c.message(m), nil
}

func (c *chatChunks) last() (*schema.Message, error) {
	whole, err := c.all.Message()
	if err != nil {
		return nil, err
	}
	m := &schema.Message{Role: schema.Assistant, ToolCalls: c.attached()}
	SetExtra(&m.Extra, layoutKey, layoutOf(whole))
	SetExtra(&m.Extra, metaKey, metaText(whole.ResponseMeta))
	if m.Extra == nil && m.ToolCalls == nil {
		return nil, io.EOF
	}
	return m, nil
}

// attach keeps what is attached to a streamed call, for the last chunk. It may come in several chunks of a block, each key
// in one, and must be in a single chunk of the call: joining calls keeps the first Extra.
func (c *chatChunks) attach(place int, extra map[string]any) {
	if len(extra) == 0 {
		return
	}
	if c.extras == nil {
		c.extras = map[int]map[string]any{}
	}
	c.extras[place] = Merged(c.extras[place], extra)
}

// attached returns the calls with nothing but what is attached to them.
func (c *chatChunks) attached() (calls []schema.ToolCall) {
	for _, place := range slices.Sorted(maps.Keys(c.extras)) {
		calls = append(calls, schema.ToolCall{Index: &place, Extra: c.extras[place]})
	}
	return calls
}

// metaKey is the key of Message.Extra that holds what the provider reports and the message has no field for.
const metaKey = "response_meta"

// metaText returns the text for metaKey.
func metaText(meta *schema.AgenticResponseMeta) string {
	if meta == nil {
		return ""
	}
	extensions := schema.AgenticResponseMeta{
		OpenAIExtension: meta.OpenAIExtension, GeminiExtension: meta.GeminiExtension,
		ClaudeExtension: meta.ClaudeExtension, Extension: meta.Extension,
	}
	if extensions == (schema.AgenticResponseMeta{}) {
		return ""
	}
	text, err := Encode(extensions)
	if err != nil {
		return ""
	}
	return string(text)
}

// message returns a chunk of blocks as one of a message.
func (c *chatChunks) message(from *schema.AgenticMessage) *schema.Message {
	m := &schema.Message{Role: schema.Assistant}
	for _, b := range from.ContentBlocks {
		if b != nil {
			c.add(m, b)
		}
	}
	reason := ExtraText(from.Extra, finishKey)
	if from.ResponseMeta != nil || reason != "" {
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: reason}
		if meta := from.ResponseMeta; meta != nil {
			m.ResponseMeta.Usage = meta.TokenUsage
			m.ResponseMeta.ID, m.ResponseMeta.Model, m.ResponseMeta.Provider = meta.ID, meta.Model, meta.Provider
		}
	}
	for key, value := range from.Extra {
		if key == finishKey {
			continue
		}
		if m.Extra == nil {
			m.Extra = make(map[string]any, len(from.Extra))
		}
		m.Extra[key] = value
	}
	return m
}

func (c *chatChunks) add(m *schema.Message, b *schema.ContentBlock) {
	switch {
	case b.AssistantGenText != nil:
		m.Content += b.AssistantGenText.Text
	case b.Reasoning != nil:
		m.ReasoningContent += b.Reasoning.Text
		if b.Reasoning.Signature != "" {
			meta := partMeta(b)
			if meta == nil {
				meta = &schema.MessageStreamingMeta{Index: c.signed}
				c.signed++
			}
			m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, schema.MessageOutputPart{
				Type:          schema.ChatMessagePartTypeReasoning,
				Reasoning:     &schema.MessageOutputReasoning{Signature: b.Reasoning.Signature},
				StreamingMeta: meta,
			})
		}
	case b.FunctionToolCall != nil:
		m.ToolCalls = append(m.ToolCalls, c.call(b))
	case b.AssistantGenImage != nil, b.AssistantGenAudio != nil, b.AssistantGenVideo != nil:
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, outputPart(b))
	}
}

func (c *chatChunks) call(b *schema.ContentBlock) schema.ToolCall {
	call := schema.ToolCall{
		ID:       b.FunctionToolCall.CallID,
		Type:     "function",
		Function: schema.FunctionCall{Name: b.FunctionToolCall.Name, Arguments: b.FunctionToolCall.Arguments},
		Extra:    b.Extra,
	}
	if b.StreamingMeta == nil {
		return call
	}
	place, known := c.calls[b.StreamingMeta.Index]
	if !known {
		if c.calls == nil {
			c.calls = map[int]int{}
		}
		place = len(c.calls)
		c.calls[b.StreamingMeta.Index] = place
	}
	call.Index, call.Extra = &place, nil
	c.attach(place, b.Extra)
	return call
}

func partMeta(b *schema.ContentBlock) *schema.MessageStreamingMeta {
	if b.StreamingMeta == nil {
		return nil
	}
	return &schema.MessageStreamingMeta{Index: b.StreamingMeta.Index}
}

// ResponseMetaOf returns what the provider reported about the answer that a chat message is: for providers whose API has
// blocks that is more than Message.ResponseMeta. It is nil if there is nothing more.
func ResponseMetaOf(m *schema.Message) *schema.AgenticResponseMeta {
	if m == nil {
		return nil
	}
	meta := new(schema.AgenticResponseMeta)
	if text := ExtraText(m.Extra, metaKey); text == "" || DecodeLenient([]byte(text), meta) != nil {
		return nil
	}
	return meta
}

// BlocksOfAnswer returns the blocks of an answer of a chat model whose API has blocks, in their order: server tools,
// citations and thinking with signatures among them.
func BlocksOfAnswer(m *schema.Message) []*schema.ContentBlock {
	if m == nil {
		return nil
	}
	return assistantBlocks(m)
}
