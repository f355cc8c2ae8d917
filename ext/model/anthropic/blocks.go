package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Keys of the Extra of blocks.
const (
	// RawBlockKey holds a block as the API has it, in JSON text: in answers what this package has no other place for,
	// which is sent back as it is; in what the user says, a block that is sent instead of the one that has the key.
	RawBlockKey = "anthropic_block"
	// ExtraFieldsKey is a key of the Extra map of blocks, parts and tools. Its value, a map[string]any, is set in what
	// is sent for them: "citations", "context" and "title" of documents, "strict" of tools, and whatever the API knows.
	ExtraFieldsKey = "anthropic_extra_fields"

	redactedKey  = "anthropic_redacted"  // the encrypted data of redacted thinking
	citationsKey = "anthropic_citations" // the citations of a text, one JSON object behind the other
	callerKey    = "anthropic_caller"    // who called a tool, if not the model itself
	containerKey = "anthropic_container" // of a message: the container that its code ran in
)

// opaqueKeys are the keys of values that only the service that gave them understands.
var opaqueKeys = []string{RawBlockKey, ExtraFieldsKey, redactedKey, citationsKey, callerKey, containerKey}

// withExtra sets what the Extra of a block says about how it is sent.
func withExtra(p *piece, extra map[string]any) *piece {
	if ttl := ttlOf(extra); ttl != "" {
		p.cache = ttl
	}
	if fields, ok := extra[ExtraFieldsKey].(map[string]any); ok {
		p.fields.Merge(fields)
	}
	return p
}

// inputPiece returns a block of the user, nil if there is nothing to send.
func (b *builder) inputPiece(block *schema.ContentBlock) (*piece, error) {
	if raw := kit.ExtraText(block.Extra, RawBlockKey); raw != "" {
		p, err := rawPiece(raw)
		return withMark(p, block), err
	}
	var p *piece
	var err error
	switch {
	case block.UserInputText != nil:
		if isBlank(block.UserInputText.Text) {
			return nil, nil
		}
		p = textPiece(block.UserInputText.Text)
	case block.UserInputImage != nil:
		m := block.UserInputImage
		p, err = imagePiece(m.URL, m.Base64Data, m.MIMEType)
	case block.UserInputFile != nil:
		f := block.UserInputFile
		p, err = filePiece(f.URL, f.Base64Data, f.MIMEType, f.Name)
	case block.FunctionToolResult != nil:
		p, err = b.resultPiece(block.FunctionToolResult, kit.IsError(block.Extra))
	case block.ToolSearchFunctionToolResult != nil:
		p, err = b.searchResultPiece(block.ToolSearchFunctionToolResult)
	default:
		return nil, fmt.Errorf("a block of type %q cannot be sent: the API takes text, images, PDF and text files, and "+
			"results of tools", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", block.Type, err)
	}
	return withExtra(p, block.Extra), nil
}

func rawPiece(text string) (*piece, error) {
	var head struct{ Type string }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return nil, fmt.Errorf("%s: %w", RawBlockKey, err)
	}
	p := newPiece(head.Type)
	p.raw = json.RawMessage(text)
	return p, nil
}

// resultPiece returns the result of a function.
func (b *builder) resultPiece(r *schema.FunctionToolResult, failed bool) (*piece, error) {
	p := newPiece("tool_result")
	p.fields.Set("tool_use_id", b.ids.Result(r.CallID))
	var content []*piece
	for i, part := range r.Content {
		if part == nil {
			continue
		}
		c, err := b.inputPiece(&schema.ContentBlock{
			Type: schema.ContentBlockType(part.Type), UserInputText: part.Text, UserInputImage: part.Image,
			UserInputAudio: part.Audio, UserInputVideo: part.Video, UserInputFile: part.File, Extra: part.Extra,
		})
		if err != nil {
			return nil, fmt.Errorf("part %d of the result of tool %q: %w", i, r.Name, err)
		}
		if c != nil {
			if c.cache != "" { // one marker for the whole is as good, and is counted
				p.cache, c.cache = c.cache, ""
			}
			content = append(content, c)
		}
	}
	if len(content) == 0 && failed { // the API wants to know what failed
		content = append(content, textPiece(emptyTurn))
	}
	if len(content) > 0 {
		p.fields.Set("content", wires(content))
	}
	if failed {
		p.fields.Set("is_error", true)
	}
	return p, nil
}

// searchResultPiece returns what a search for tools has found.
func (b *builder) searchResultPiece(r *schema.ToolSearchFunctionToolResult) (*piece, error) {
	p := newPiece("tool_result")
	p.fields.Set("tool_use_id", b.ids.Result(r.CallID))
	var found []kit.Object
	if r.Result != nil {
		for _, t := range r.Result.Tools {
			if t != nil {
				found = append(found, kit.Object{{Key: "type", Value: "tool_reference"}, {Key: "tool_name", Value: t.Name}})
			}
		}
	}
	if len(found) > 0 {
		p.fields.Set("content", found)
	}
	return p, nil
}

// outputPiece returns a block of the model, nil if there is nothing to send.
func (b *builder) outputPiece(block *schema.ContentBlock, m *schema.AgenticMessage) (*piece, error) {
	if raw := kit.ExtraText(block.Extra, RawBlockKey); raw != "" {
		p, err := rawPiece(raw)
		return withMark(p, block), err
	}
	switch {
	case block.AssistantGenText != nil:
		return withMark(answerText(block), block), nil
	case block.Reasoning != nil:
		return withMark(b.thinkingPiece(block), block), nil
	case block.FunctionToolCall != nil:
		return b.callPiece(block, m), nil
	case block.AssistantGenImage != nil:
		i := block.AssistantGenImage
		p, err := imagePiece(i.URL, i.Base64Data, i.MIMEType)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", block.Type, err)
		}
		b.carried = append(b.carried, textPiece("[an image that the assistant made]"), p)
		return nil, nil
	}
	return nil, fmt.Errorf("a block of type %q cannot be sent to this API as part of an answer: leave it out", block.Type)
}

// withMark puts the mark of a block on its piece.
func withMark(p *piece, block *schema.ContentBlock) *piece {
	if p != nil {
		p.cache = ttlOf(block.Extra)
	}
	return p
}

// answerText returns a text of the model with its citations.
func answerText(block *schema.ContentBlock) *piece {
	text := block.AssistantGenText
	if isBlank(text.Text) {
		return nil
	}
	p := textPiece(text.Text)
	if text.ClaudeExtension == nil {
		return p
	}
	if raw := kit.ExtraText(block.Extra, citationsKey); raw != "" {
		p.fields.Set("citations", kit.SplitObjects(raw))
	} else if list := citationObjects(text.ClaudeExtension.Citations); len(list) > 0 {
		p.fields.Set("citations", list)
	}
	return p
}

// thinkingPiece returns thinking as the model gave it. Servers that sign refuse what has no signature, the others a
// signature that is empty.
func (b *builder) thinkingPiece(block *schema.ContentBlock) *piece {
	if data := kit.ExtraText(block.Extra, redactedKey); data != "" {
		p := newPiece("redacted_thinking")
		p.fields.Set("data", data)
		return p
	}
	r := block.Reasoning
	if r.Signature == "" && (b.e.signs || r.Text == "") {
		return nil
	}
	p := newPiece("thinking")
	p.fields.Set("thinking", r.Text)
	p.fields.SetText("signature", r.Signature)
	return p
}

// callPiece returns the call of a function.
func (b *builder) callPiece(block *schema.ContentBlock, m *schema.AgenticMessage) *piece {
	c := block.FunctionToolCall
	p := newPiece("tool_use")
	id := b.ids.Call(c.CallID)
	p.fields.Set("id", id)
	p.fields.Set("name", c.Name)
	p.fields.Set("input", kit.ArgumentsObject(c.Arguments))
	if caller := kit.ExtraText(block.Extra, callerKey); caller != "" && callerIsIn(caller, m) {
		p.fields.Set("caller", json.RawMessage(caller))
		b.container = containerOf(m)
	}
	b.calls = append(b.calls, id)
	b.callNames = append(b.callNames, c.Name)
	return withMark(p, block)
}

// callerIsIn reports whether the tool that called another is in the message: it is not when the service does not
// understand it.
func callerIsIn(caller string, m *schema.AgenticMessage) bool {
	var by struct {
		ToolID string `json:"tool_id"`
	}
	if json.Unmarshal([]byte(caller), &by) != nil {
		return false
	}
	for _, block := range m.ContentBlocks {
		if block != nil && block.ServerToolCall != nil && block.ServerToolCall.CallID == by.ToolID {
			return true
		}
	}
	return false
}

// containerOf returns the ID of the container that the code of an answer ran in.
func containerOf(m *schema.AgenticMessage) string {
	var c struct{ ID string }
	_ = json.Unmarshal([]byte(kit.ExtraText(m.Extra, containerKey)), &c) // "" if it is none
	return c.ID
}
