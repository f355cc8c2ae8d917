package kit

import (
	"strings"

	"github.com/weftgo/weft/schema"
)

// An Origin says where an answer came from. What only its server understands (signatures of thinking, encrypted items,
// payloads of server tools, IDs) is sent back there and nowhere else.
type Origin struct {
	// Provider is the adapter, Host the server, API what it speaks: openai, api.deepseek.com, chat.
	Provider, Host, API string
}

// originKey is the key of the Extra of answers.
const originKey = "origin"

// String returns "provider/host/api".
func (o Origin) String() string { return o.Provider + "/" + o.Host + "/" + o.API }

// Mark notes the origin in the Extra of an answer. In a stream one chunk has it.
func (o Origin) Mark(extra *map[string]any) { SetExtra(extra, originKey, o.String()) }

// OriginOf returns the origin that the Extra of an answer notes, the zero Origin if it notes none.
func OriginOf(extra map[string]any) Origin {
	parts := strings.SplitN(ExtraText(extra, originKey), "/", 3)
	if len(parts) != 3 {
		return Origin{}
	}
	return Origin{Provider: parts[0], Host: parts[1], API: parts[2]}
}

// Kinship says what of an answer a server understands that another one gave.
type Kinship int

// The degrees of kinship.
const (
	// Foreign understands what every provider does: text, calls and their results, media.
	Foreign Kinship = iota
	// Kin also understands signed thinking, as the servers of one provider do.
	Kin
	// Own understands everything: it gave the answer.
	Own
)

// ForeignThinking says what to do with thinking of another provider's model.
type ForeignThinking string

const (
	// ForeignThinkingDrop leaves it out.
	ForeignThinkingDrop ForeignThinking = ""
	// ForeignThinkingText sends it as a text in a <thinking> element of the same message.
	ForeignThinkingText ForeignThinking = "text"
)

// Validate returns an error for an unknown value.
func (f ForeignThinking) Validate() error {
	return Check(f == ForeignThinkingDrop || f == ForeignThinkingText,
		`ForeignThinking must be empty or "text"`)
}

// A Filter takes out of a conversation what the server that it is sent to cannot understand.
type Filter struct {
	// Kinship says what the server understands of an answer. Answers without an origin have the zero one.
	Kinship func(Origin) Kinship
	// Thinking says what to do with thinking that is not sent back.
	Thinking ForeignThinking
	// Opaque are the keys of Extra that hold what only the origin understands.
	Opaque []string
}

// Blocks returns the conversation that may be sent. Messages that change are copied.
func (f *Filter) Blocks(in []*schema.AgenticMessage) []*schema.AgenticMessage {
	out := make([]*schema.AgenticMessage, len(in))
	for i, m := range in {
		out[i] = m
		if m == nil || m.Role != schema.AgenticRoleTypeAssistant {
			continue
		}
		if kin := f.Kinship(OriginOf(m.Extra)); kin != Own {
			filtered := *m
			filtered.Extra = f.withoutOpaque(m.Extra)
			filtered.ContentBlocks = f.blocks(m.ContentBlocks, kin)
			out[i] = &filtered
		}
	}
	return out
}

func (f *Filter) blocks(in []*schema.ContentBlock, kin Kinship) []*schema.ContentBlock {
	out := make([]*schema.ContentBlock, 0, len(in))
	for _, b := range in {
		if b = f.block(b, kin); b != nil {
			out = append(out, b)
		}
	}
	return out
}

// block returns a block as it may be sent, nil if it may not.
func (f *Filter) block(b *schema.ContentBlock, kin Kinship) *schema.ContentBlock {
	if b == nil {
		return nil
	}
	plain := *b
	switch {
	case b.Reasoning != nil && kin == Kin:
		return b
	case b.Reasoning != nil:
		return f.thought(b.Reasoning.Text)
	case b.AssistantGenText != nil:
		plain.AssistantGenText = &schema.AssistantGenText{Text: b.AssistantGenText.Text}
	case b.ServerToolCall != nil:
		return textBlock("[" + b.ServerToolCall.Name + " " + compact(b.ServerToolCall.Arguments) + "]")
	case b.MCPToolCall != nil:
		return textBlock("[" + b.MCPToolCall.Name + " " + b.MCPToolCall.Arguments + "]")
	case b.MCPToolResult != nil && b.MCPToolResult.Content != "":
		return textBlock("[" + b.MCPToolResult.Name + ": " + b.MCPToolResult.Content + "]")
	case b.ServerToolResult != nil, b.MCPToolResult != nil, b.MCPListToolsResult != nil, b.MCPToolApprovalRequest != nil:
		return nil // what was found is in the text of the answer
	}
	if kin == Foreign {
		plain.Extra = f.withoutOpaque(b.Extra)
	}
	return &plain
}

func (f *Filter) thought(text string) *schema.ContentBlock {
	if f.Thinking != ForeignThinkingText || text == "" {
		return nil
	}
	return textBlock(thinkingElement(text))
}

func thinkingElement(text string) string { return "<thinking>\n" + text + "\n</thinking>" }

func textBlock(text string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.AssistantGenText{Text: text})
}

func compact(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := Encode(v)
	if err != nil || v == nil {
		return ""
	}
	return string(text)
}

// withoutOpaque returns the Extra without what only its origin understands.
func (f *Filter) withoutOpaque(extra map[string]any) map[string]any {
	var kept map[string]any
	for key, value := range extra {
		if f.isOpaque(key) {
			continue
		}
		if kept == nil {
			kept = make(map[string]any, len(extra))
		}
		kept[key] = value
	}
	return kept
}

func (f *Filter) isOpaque(key string) bool {
	for _, opaque := range f.Opaque {
		if key == opaque {
			return true
		}
	}
	return key == layoutKey
}

// Messages is [Filter.Blocks] for chat messages.
func (f *Filter) Messages(in []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, len(in))
	for i, m := range in {
		out[i] = m
		if m == nil || m.Role != schema.Assistant || f.Kinship(OriginOf(m.Extra)) == Own {
			continue
		}
		filtered := *m
		filtered.Extra = f.withoutOpaque(m.Extra)
		thought := Thinking(m)
		filtered.ReasoningContent, filtered.AssistantGenMultiContent = "", nil
		for _, p := range m.AssistantGenMultiContent {
			if p.Type != schema.ChatMessagePartTypeReasoning {
				filtered.AssistantGenMultiContent = append(filtered.AssistantGenMultiContent, p)
			}
		}
		if thought != "" && f.Thinking == ForeignThinkingText {
			filtered.Content = strings.TrimSuffix(thinkingElement(thought)+"\n"+m.Content, "\n")
		}
		filtered.ToolCalls = nil
		for _, call := range m.ToolCalls {
			call.Extra = f.withoutOpaque(call.Extra)
			filtered.ToolCalls = append(filtered.ToolCalls, call)
		}
		out[i] = &filtered
	}
	return out
}

// Thinking returns the thinking of a message, from whichever of the places for it.
func Thinking(m *schema.Message) string {
	if m.ReasoningContent != "" {
		return m.ReasoningContent
	}
	var b strings.Builder
	for _, part := range m.AssistantGenMultiContent {
		if part.Type == schema.ChatMessagePartTypeReasoning && part.Reasoning != nil {
			b.WriteString(part.Reasoning.Text)
		}
	}
	return b.String()
}
