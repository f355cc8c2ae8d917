package kit

import (
	"encoding/json"

	"github.com/weftgo/weft/schema"
)

// layoutKey is the key of Message.Extra that holds the order of the blocks that the message was made of, and what of
// them has no field in a message. It is a JSON list of layoutEntry.
const layoutKey = "layout"

// A layoutEntry is a block of an answer. What the message has in a field of its own is left out of the block: the text,
// the thinking with its signature, the call, the medium.
type layoutEntry struct {
	// Type is the type of the block.
	Type schema.ContentBlockType `json:"t"`
	// Length is the number of bytes of Content or ReasoningContent that belong to it.
	Length int `json:"n,omitempty"`
	// ID is the ID of the call.
	ID string `json:"id,omitempty"`
	// Signed says that the thinking has the next of the signed parts.
	Signed bool `json:"s,omitempty"`
	// Block is the rest, nil if nothing is left.
	Block *schema.ContentBlock `json:"b,omitempty"`
}

// layoutOf returns the text for layoutKey, "" if the message says everything: thinking, text, media and calls in this
// order, with nothing attached.
func layoutOf(m *schema.AgenticMessage) string {
	var entries []layoutEntry
	plain, stage := true, 0
	for _, b := range m.ContentBlocks {
		if b == nil {
			continue
		}
		e := entryOf(b)
		next := stageOf(b)
		plain = plain && e.Block == nil && !e.Signed && (next > stage || next == stage && next >= mediaStage)
		stage = next
		entries = append(entries, e)
	}
	if plain {
		return ""
	}
	text, err := Encode(entries)
	if err != nil { // a provider's value that is no JSON: the neutral fields have to do
		return ""
	}
	return string(text)
}

const (
	noStage    = -1 // of blocks that a message without a layout does not give back
	mediaStage = 3
	callStage  = 4
)

// stageOf returns the place of a block in a message that needs no layout.
func stageOf(b *schema.ContentBlock) int {
	switch {
	case b.Reasoning != nil && b.Reasoning.Text != "":
		return 1
	case b.AssistantGenText != nil && b.AssistantGenText.Text != "":
		return 2
	case b.AssistantGenImage != nil, b.AssistantGenAudio != nil, b.AssistantGenVideo != nil:
		return mediaStage
	case b.FunctionToolCall != nil:
		return callStage
	}
	return noStage
}

func entryOf(b *schema.ContentBlock) layoutEntry {
	e := layoutEntry{Type: b.Type}
	rest := *b
	rest.StreamingMeta = nil
	empty := len(b.Extra) == 0
	switch {
	case b.Reasoning != nil:
		e.Length, e.Signed = len(b.Reasoning.Text), b.Reasoning.Signature != ""
		left := *b.Reasoning
		left.Text, left.Signature = "", ""
		rest.Reasoning, empty = &left, empty && left.OpenAIExtension == nil
	case b.AssistantGenText != nil:
		e.Length = len(b.AssistantGenText.Text)
		left := *b.AssistantGenText
		left.Text = ""
		rest.AssistantGenText, empty = &left, empty && left == (schema.AssistantGenText{})
	case b.FunctionToolCall != nil:
		e.ID, empty = b.FunctionToolCall.CallID, true // Extra belongs to the call
	case b.AssistantGenImage != nil, b.AssistantGenAudio != nil, b.AssistantGenVideo != nil:
		empty = true // Extra belongs to the part
	default:
		empty = false
	}
	if !empty {
		e.Block = &rest
	}
	return e
}

// A rebuilder makes the blocks of an answer again.
type rebuilder struct {
	m       *schema.Message
	content string // that is left
	thought string
	calls   []schema.ToolCall
	signed  []schema.MessageOutputPart
	media   []schema.MessageOutputPart
}

// assistantBlocks returns the blocks of an answer. If the message was changed so that its layout does not fit any more,
// what is signed or opaque is left out as a whole: providers refuse halves.
func assistantBlocks(m *schema.Message) []*schema.ContentBlock {
	if ExtraText(m.Extra, layoutKey) == "" {
		return newRebuilder(m).neutral(false)
	}
	if blocks := newRebuilder(m).blocks(); blocks != nil {
		return blocks
	}
	return newRebuilder(m).neutral(true)
}

func newRebuilder(m *schema.Message) *rebuilder {
	r := &rebuilder{m: m, content: m.Content, thought: m.ReasoningContent, calls: m.ToolCalls}
	for _, p := range m.AssistantGenMultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil && p.Reasoning.Signature != "":
			r.signed = append(r.signed, p)
		case p.Image != nil, p.Audio != nil, p.Video != nil:
			r.media = append(r.media, p)
		}
	}
	return r
}

// blocks returns the blocks by the layout of the message, nil if it does not fit the message.
func (r *rebuilder) blocks() []*schema.ContentBlock {
	var entries []layoutEntry
	text := ExtraText(r.m.Extra, layoutKey)
	if json.Unmarshal([]byte(text), &entries) != nil {
		return nil
	}
	blocks := make([]*schema.ContentBlock, 0, len(entries))
	for _, e := range entries {
		b, fits := r.block(e)
		if !fits {
			return nil
		}
		blocks = append(blocks, b)
	}
	if r.content != "" || r.thought != "" || len(r.calls)+len(r.signed)+len(r.media) > 0 {
		return nil
	}
	return blocks
}

// block returns the next block, and false if the message does not have it.
func (r *rebuilder) block(e layoutEntry) (*schema.ContentBlock, bool) {
	b := e.Block
	if b == nil {
		b = &schema.ContentBlock{Type: e.Type}
	}
	switch e.Type {
	case schema.ContentBlockTypeAssistantGenText:
		if b.AssistantGenText == nil {
			b.AssistantGenText = &schema.AssistantGenText{}
		}
		return b, cut(&b.AssistantGenText.Text, &r.content, e.Length)
	case schema.ContentBlockTypeReasoning:
		if b.Reasoning == nil {
			b.Reasoning = &schema.Reasoning{}
		}
		if e.Signed && len(r.signed) == 0 {
			return nil, false
		}
		if e.Signed {
			b.Reasoning.Signature = r.signed[0].Reasoning.Signature
			r.signed = r.signed[1:]
		}
		return b, cut(&b.Reasoning.Text, &r.thought, e.Length)
	case schema.ContentBlockTypeFunctionToolCall:
		if len(r.calls) == 0 || r.calls[0].ID != e.ID {
			return nil, false
		}
		b = callBlock(r.calls[0])
		r.calls = r.calls[1:]
	case schema.ContentBlockTypeAssistantGenImage, schema.ContentBlockTypeAssistantGenAudio,
		schema.ContentBlockTypeAssistantGenVideo:
		if len(r.media) == 0 {
			return nil, false
		}
		b = mediaBlock(r.media[0])
		r.media = r.media[1:]
	}
	return b, true
}

// cut moves n bytes from the rest to text.
func cut(text, rest *string, n int) bool {
	if n < 0 || n > len(*rest) {
		return false
	}
	*text, *rest = (*rest)[:n], (*rest)[n:]
	return true
}

func callBlock(call schema.ToolCall) *schema.ContentBlock {
	b := schema.NewContentBlock(&schema.FunctionToolCall{
		CallID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
	})
	b.Extra = call.Extra
	return b
}

// neutral returns the blocks of a message without a layout that fits: what is signed is not among them. changed says
// that the message is not as the provider gave it.
func (r *rebuilder) neutral(changed bool) []*schema.ContentBlock {
	var blocks []*schema.ContentBlock
	if text := Thinking(r.m); text != "" && len(r.signed) == 0 && !changed {
		blocks = append(blocks, schema.NewContentBlock(&schema.Reasoning{Text: text}))
	}
	if r.m.Content != "" {
		blocks = append(blocks, textBlock(r.m.Content))
	}
	for _, p := range r.m.AssistantGenMultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText && r.m.Content == "" && p.Text != "":
			blocks = append(blocks, textBlock(p.Text))
		case p.Image != nil, p.Audio != nil, p.Video != nil:
			blocks = append(blocks, mediaBlock(p))
		}
	}
	for _, call := range r.m.ToolCalls {
		if changed {
			call.Extra = nil
		}
		blocks = append(blocks, callBlock(call))
	}
	return blocks
}
