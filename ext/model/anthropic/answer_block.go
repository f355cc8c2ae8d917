package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/claude"
)

// wireBlock holds the fields of a block of an answer that have a place in a message.
type wireBlock struct {
	Type       string            `json:"type"`
	Text       string            `json:"text"`
	Citations  []json.RawMessage `json:"citations"`
	Thinking   string            `json:"thinking"`
	Signature  string            `json:"signature"`
	Data       string            `json:"data"`
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Input      json.RawMessage   `json:"input"`
	Caller     json.RawMessage   `json:"caller"`
	ToolUseID  string            `json:"tool_use_id"`
	Content    json.RawMessage   `json:"content"`
	ServerName string            `json:"server_name"`
	IsError    bool              `json:"is_error"`
}

// An answerBlock is a block of an answer that has begun. What of it can be shown at once is returned as it comes, by
// begin and add; the rest when it ends.
type answerBlock struct {
	wireBlock
	at  int // the index in the answer
	nth int // its place among the blocks that the server began, from 1
	// raw is the block as it began.
	raw json.RawMessage
	// input holds the pieces of the arguments that came since.
	input strings.Builder
	// keep says that texts are kept, too, for wire.
	keep     bool
	text     strings.Builder
	citeds   []json.RawMessage
	isAnswer bool // the call of the tool that the model answers by
	said     bool // some of the arguments is out
	stopped  bool // the server has ended it
	// whole is the block of a call that came whole, nil in a stream.
	whole *schema.ContentBlock
	// fields are the fields of raw, decoded when something came since for which they are needed: see object. changed says
	// that something came.
	fields  kit.Object
	changed bool
}

// object returns the fields of the block as it began. Whole blocks never need them.
func (b *answerBlock) object() kit.Object {
	if b.fields == nil {
		decoded, _ := kit.DecodeOrdered(b.raw)
		b.fields, _ = decoded.(kit.Object)
	}
	return b.fields
}

// isOpaque reports whether the block is sent back as it is, as nothing else has a place for it.
func (b *answerBlock) isOpaque() bool {
	switch b.Type {
	case "text", "thinking", "redacted_thinking", "tool_use":
		return false
	}
	return true
}

// begin returns what the block begins with, nil if that is nothing.
func (b *answerBlock) begin() *schema.ContentBlock {
	switch b.Type {
	case "text":
		b.text.WriteString(b.Text)
		b.citeds = b.Citations
		if b.Text == "" && len(b.Citations) == 0 {
			return nil
		}
		return textBlock(b.Text, b.Citations)
	case "thinking":
		b.text.WriteString(b.Thinking)
		if b.Thinking == "" {
			return nil
		}
		return schema.NewContentBlock(&schema.Reasoning{Text: b.Thinking})
	case "redacted_thinking":
		block := schema.NewContentBlock(&schema.Reasoning{})
		kit.SetExtra(&block.Extra, redactedKey, b.Data)
		return block
	case "tool_use":
		if b.isAnswer {
			return nil
		}
		block := schema.NewContentBlock(&schema.FunctionToolCall{CallID: b.ID, Name: b.Name})
		kit.SetExtra(&block.Extra, callerKey, callerText(b.Caller))
		return block
	}
	return nil
}

// callerText returns who called a tool, "" for the model itself.
func callerText(raw json.RawMessage) string {
	var c struct{ Type string }
	if json.Unmarshal(raw, &c) != nil || c.Type == "" || c.Type == "direct" {
		return ""
	}
	return string(raw)
}

// textBlock returns a text with its citations.
func textBlock(text string, citations []json.RawMessage) *schema.ContentBlock {
	block := schema.NewContentBlock(&schema.AssistantGenText{Text: text})
	var list []*claude.TextCitation
	for _, raw := range citations {
		if c := citation(raw); c != nil {
			list = append(list, c)
		}
	}
	if len(list) > 0 {
		block.AssistantGenText.ClaudeExtension = &claude.AssistantGenTextExtension{Citations: list}
		kit.SetExtra(&block.Extra, citationsKey, kit.JoinObjects(citations))
	}
	return block
}

// keepText keeps a piece of the text, if it will be asked for.
func (b *answerBlock) keepText(text string) {
	if b.keep {
		b.changed = true
		b.text.WriteString(text)
	}
}

// takes reports whether a delta of a kind belongs in the block. Kinds that are not known may belong in any.
func (b *answerBlock) takes(kind string) bool {
	switch kind {
	case "text_delta":
		return b.Type == "text" || b.isOpaque()
	case "thinking_delta":
		return b.Type == "thinking" || b.isOpaque()
	}
	return true
}

// add takes a delta and returns what can be shown of it, nil if that is nothing. data is the whole event.
func (b *answerBlock) add(d *wireDelta, data []byte) *schema.ContentBlock {
	b.changed = true
	switch {
	case b.isOpaque() && d.Type != "input_json_delta":
		b.addUnknown(data)
	case d.Type == "input_json_delta" && (b.Type == "tool_use" || b.isOpaque()):
		return b.addInput(d.PartialJSON)
	case d.Type == "text_delta" && b.Type == "text":
		b.keepText(d.Text)
		if d.Text != "" {
			return schema.NewContentBlock(&schema.AssistantGenText{Text: d.Text})
		}
	case d.Type == "citations_delta" && b.Type == "text" && len(d.Citation) > 0:
		b.citeds = append(b.citeds, d.Citation)
		return textBlock("", []json.RawMessage{d.Citation})
	case d.Type == "thinking_delta" && b.Type == "thinking":
		b.keepText(d.Thinking)
		if d.Thinking != "" {
			return schema.NewContentBlock(&schema.Reasoning{Text: d.Thinking})
		}
	case d.Type == "signature_delta" && b.Type == "thinking":
		b.Signature = d.Signature
	}
	return nil
}

// addInput takes a piece of the arguments of a call.
func (b *answerBlock) addInput(piece string) *schema.ContentBlock {
	b.input.WriteString(piece)
	switch {
	case piece == "", b.isOpaque():
		return nil
	case b.isAnswer:
		b.said = true
		return schema.NewContentBlock(&schema.AssistantGenText{Text: piece})
	}
	b.said = true
	return schema.NewContentBlock(&schema.FunctionToolCall{Arguments: piece})
}

// addUnknown joins a delta of a kind that is not known with the block: texts are appended, everything else replaces
// what was there.
func (b *answerBlock) addUnknown(event []byte) {
	var e struct {
		Delta json.RawMessage `json:"delta"`
	}
	if json.Unmarshal(event, &e) != nil {
		return
	}
	decoded, err := kit.DecodeOrdered(e.Delta)
	o, ok := decoded.(kit.Object)
	if err != nil || !ok {
		return
	}
	b.object()
	for _, f := range o {
		if f.Key == "type" {
			continue
		}
		before, wasText := b.fields.Get(f.Key).(string)
		if more, isText := f.Value.(string); isText && wasText {
			b.fields.Set(f.Key, before+more)
		} else if f.Value != nil {
			b.fields.Set(f.Key, f.Value)
		}
	}
}

// end returns what is left to show when the block has ended, nil if that is nothing.
func (b *answerBlock) end() *schema.ContentBlock {
	switch b.Type {
	case "text", "redacted_thinking":
	case "thinking":
		if b.Signature != "" {
			return schema.NewContentBlock(&schema.Reasoning{Signature: b.Signature})
		}
	case "tool_use":
		if b.input.Len() > 0 || b.arguments() == noInput {
			return nil // it is out, or nothing came: see endCalls and kit
		}
		b.said = true
		if b.isAnswer {
			return schema.NewContentBlock(&schema.AssistantGenText{Text: b.arguments()})
		}
		return schema.NewContentBlock(&schema.FunctionToolCall{Arguments: b.arguments()})
	default:
		return b.opaque()
	}
	return nil
}

// arguments returns the arguments of a call, never an empty text.
func (b *answerBlock) arguments() string {
	switch {
	case b.input.Len() > 0:
		return b.input.String()
	case len(b.Input) > 0 && string(b.Input) != "null":
		return string(b.Input)
	}
	return noInput
}

// noInput is the arguments of a call without any. Blocks of streams begin with it, whatever comes.
const noInput = "{}"

// opaque returns what a tool of the provider was called with or has found, or another block that only the provider
// understands.
func (b *answerBlock) opaque() *schema.ContentBlock {
	raw := b.wire()
	if b.changed {
		_ = kit.DecodeLenient(raw, &b.wireBlock)
	}
	var block *schema.ContentBlock
	switch {
	case b.Type == "server_tool_use":
		block = schema.NewContentBlock(&schema.ServerToolCall{Name: b.Name, CallID: b.ID, Arguments: plainValue(b.Input)})
	case b.Type == "mcp_tool_use":
		block = schema.NewContentBlock(&schema.MCPToolCall{
			ServerLabel: b.ServerName, CallID: b.ID, Name: b.Name, Arguments: b.arguments(),
		})
	case b.Type == "mcp_tool_result":
		block = schema.NewContentBlock(b.mcpResult())
	case strings.HasSuffix(b.Type, "_tool_result"):
		block = schema.NewContentBlock(&schema.ServerToolResult{
			Name: strings.TrimSuffix(b.Type, "_tool_result"), CallID: b.ToolUseID, Content: plainValue(b.Content),
		})
	default:
		block = schema.NewContentBlock(&schema.ServerToolResult{Name: b.Type, CallID: b.ID, Content: plainValue(raw)})
	}
	kit.SetExtra(&block.Extra, RawBlockKey, string(raw))
	return block
}

func (b *answerBlock) mcpResult() *schema.MCPToolResult {
	result := &schema.MCPToolResult{CallID: b.ToolUseID, Content: textOf(b.Content)}
	if b.IsError {
		result.Error = &schema.MCPToolCallError{Message: result.Content}
	}
	return result
}

// textOf returns content that is a text or a list with texts as one text.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var list []struct{ Text string }
	_ = json.Unmarshal(content, &list)
	var texts []string
	for _, part := range list {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// wire returns the block as the API would have sent it whole. The block must have kept its texts.
func (b *answerBlock) wire() json.RawMessage {
	if !b.changed || b.object() == nil {
		return b.raw
	}
	o := append(kit.Object{}, b.fields...)
	switch {
	case b.Type == "text":
		o.Set("text", b.text.String())
		if len(b.citeds) > 0 {
			o.Set("citations", b.citeds)
		}
	case b.Type == "thinking":
		o.Set("thinking", b.text.String())
		o.Set("signature", b.Signature)
	case b.input.Len() > 0:
		o.Set("input", kit.ArgumentsObject(b.input.String()))
	}
	raw, err := o.Encode()
	if err != nil {
		return b.raw
	}
	return raw
}

// plainValue decodes JSON into values that every encoding of messages can hold: there are no nulls in them.
func plainValue(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return withoutNulls(v)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
			} else {
				v[key] = withoutNulls(value)
			}
		}
	case []any:
		kept := v[:0]
		for _, value := range v {
			if value != nil {
				kept = append(kept, withoutNulls(value))
			}
		}
		return kept
	}
	return v
}
