package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Keys of the Extra of answers and their blocks. Each value is a text in one chunk only.
const (
	// ResponsesLogProbsKey holds the log probabilities of a text as the JSON list that the server sent.
	ResponsesLogProbsKey = "openai_logprobs"
	// ResponsesPhaseKey holds the phase of a text: "commentary" or "final_answer".
	ResponsesPhaseKey = "openai_phase"
	// ResponsesPreviousLostKey is in the Extra of an answer whose request had to be sent in full, because the server did
	// not have the previous response any more. It holds the ID of that.
	ResponsesPreviousLostKey = "openai_previous_response_lost"

	responsesItemIDKey = "openai_item_id"
	// responsesSummaryKey holds the parts of a summary of thinking, if there are several, as a JSON list.
	responsesSummaryKey = "openai_summary"
	// responsesItemKey holds an item as the server sent it. It stands at the first block of the item.
	responsesItemKey = "openai_item"
	// responsesCallKey holds what a function call has apart from name and arguments.
	responsesCallKey = "openai_call_fields"
	// responsesItemsKey holds the IDs of the items of an answer with thinking, as a JSON list: an answer that was changed
	// is sent back without thinking and IDs, as the server refuses halves.
	responsesItemsKey = "openai_items"
	// responsesHistoryKey holds the hash of a conversation, its latest answer included.
	responsesHistoryKey = "openai_history"
	// responsesConversationKey holds the conversation of the server that an answer belongs to.
	responsesConversationKey = "openai_conversation"
)

// responsesOpaqueKeys are the keys of Extra that only the origin understands.
var responsesOpaqueKeys = []string{
	ResponsesLogProbsKey, ResponsesPhaseKey, ResponsesPreviousLostKey, responsesItemIDKey, responsesSummaryKey,
	responsesItemKey, responsesCallKey, responsesItemsKey, responsesHistoryKey, responsesConversationKey,
}

// A responsesGroup is the blocks of an item.
type responsesGroup struct {
	id     string // "" if it has none
	blocks []*schema.ContentBlock
}

func (g *responsesGroup) first() *schema.ContentBlock { return g.blocks[0] }

// raw returns the item as the server sent it, nil if it is made of its blocks.
func (g *responsesGroup) raw() json.RawMessage {
	first := g.first()
	if raw := kit.ExtraText(first.Extra, responsesItemKey); raw != "" {
		return json.RawMessage(raw)
	}
	if r := first.ServerToolResult; r != nil { // one of an unknown type
		var head struct{ Type string }
		raw, _ := r.Content.(string)
		if json.Unmarshal([]byte(raw), &head) == nil && head.Type == r.Name {
			return json.RawMessage(raw)
		}
	}
	return nil
}

func responsesGroups(blocks []*schema.ContentBlock) (groups []responsesGroup) {
	for _, block := range blocks {
		if block == nil {
			continue
		}
		id := kit.ExtraText(block.Extra, responsesItemIDKey)
		if n := len(groups); n > 0 && id != "" && groups[n-1].id == id {
			groups[n-1].blocks = append(groups[n-1].blocks, block)
			continue
		}
		groups = append(groups, responsesGroup{id: id, blocks: []*schema.ContentBlock{block}})
	}
	return groups
}

// assistant appends the items of an answer, in their order.
func (b *responsesInput) assistant(m *schema.AgenticMessage) error {
	groups := responsesGroups(m.ContentBlocks)
	thought := slices.ContainsFunc(groups, func(g responsesGroup) bool { return g.first().Reasoning != nil })
	whole := thought && b.thinks && isWholeResponsesAnswer(m, groups)
	for i := range groups {
		g := &groups[i]
		if g.id != "" && b.seen[g.id] {
			b.skip(g)
			continue
		}
		b.seen[g.id] = true
		if err := b.item(g, whole, whole || !thought); err != nil {
			return err
		}
	}
	return nil
}

// skip notes that the item is sent already.
func (b *responsesInput) skip(g *responsesGroup) {
	if call := g.first().FunctionToolCall; call != nil {
		b.skipped[call.CallID]++
	}
}

// isWholeResponsesAnswer reports whether an answer with thinking can be sent back as it was: all of the thinking can,
// what followed it is there, and nothing was taken out.
func isWholeResponsesAnswer(m *schema.AgenticMessage, groups []responsesGroup) bool {
	var ids []string
	for i, g := range groups {
		if g.id != "" {
			ids = append(ids, g.id)
		}
		thought := g.first().Reasoning
		if thought == nil {
			continue
		}
		sendable := thought.Signature != "" || thought.OpenAIExtension != nil && len(thought.OpenAIExtension.Content) > 0
		if !sendable || i == len(groups)-1 {
			return false
		}
	}
	var were []string
	if text := kit.ExtraText(m.Extra, responsesItemsKey); text == "" || json.Unmarshal([]byte(text), &were) != nil {
		return true
	}
	return slices.Equal(ids, were)
}

// item appends an item of an answer. withID says that it may have its ID, and hosted that what the server ran may be
// sent.
func (b *responsesInput) item(g *responsesGroup, withID, hosted bool) error {
	switch block := g.first(); {
	case block.Reasoning != nil:
		if withID {
			b.items = append(b.items, responsesThoughtItem(g))
		}
	case block.AssistantGenText != nil:
		b.items = append(b.items, responsesTextItem(g, withID))
	case block.FunctionToolCall != nil:
		return b.callItem(g, withID)
	case block.AssistantGenAudio != nil, block.AssistantGenVideo != nil:
		return fmt.Errorf("the Responses API takes no %s back: leave it out", block.Type)
	default:
		return b.hostedItem(g, hosted)
	}
	return nil
}

func responsesThoughtItem(g *responsesGroup) kit.Object {
	thought := g.first().Reasoning
	summary, content := []any{}, []any{}
	for _, text := range responsesSummary(g.first()) {
		summary = append(summary, kit.Object{{Key: "type", Value: "summary_text"}, {Key: "text", Value: text}})
	}
	o := kit.Object{{Key: "type", Value: "reasoning"}}
	o.SetText("id", g.id)
	o.Set("summary", summary)
	if thought.OpenAIExtension != nil {
		for _, c := range thought.OpenAIExtension.Content {
			content = append(content, kit.Object{{Key: "type", Value: "reasoning_text"}, {Key: "text", Value: c.Text}})
		}
	}
	if len(content) > 0 {
		o.Set("content", content)
	}
	o.SetText("encrypted_content", thought.Signature)
	return o
}

// responsesSummary returns the parts of the summary of thinking.
func responsesSummary(block *schema.ContentBlock) []string {
	var parts []string
	if text := kit.ExtraText(block.Extra, responsesSummaryKey); json.Unmarshal([]byte(text), &parts) == nil {
		return parts
	}
	if block.Reasoning.Text == "" {
		return nil
	}
	return []string{block.Reasoning.Text}
}

func responsesTextItem(g *responsesGroup, withID bool) kit.Object {
	o := kit.Object{{Key: "type", Value: "message"}, {Key: "role", Value: "assistant"}}
	first := g.first().AssistantGenText
	refused := first.OpenAIExtension != nil && first.OpenAIExtension.Refusal != nil
	phase := kit.ExtraText(g.first().Extra, ResponsesPhaseKey)
	if !withID && len(g.blocks) == 1 && !refused {
		o.Set("content", first.Text)
		o.SetText("phase", phase)
		return o
	}
	content := []any{}
	for _, block := range g.blocks {
		text := block.AssistantGenText
		switch {
		case text == nil:
		case text.OpenAIExtension != nil && text.OpenAIExtension.Refusal != nil:
			content = append(content, kit.Object{
				{Key: "type", Value: "refusal"}, {Key: "refusal", Value: text.OpenAIExtension.Refusal.Reason},
			})
		default:
			content = append(content, kit.Object{
				{Key: "type", Value: "output_text"}, {Key: "text", Value: text.Text}, {Key: "annotations", Value: []any{}},
			})
		}
	}
	o.Set("content", content)
	if withID {
		o.SetText("id", g.id)
		o.Set("status", "completed")
	}
	o.SetText("phase", phase)
	return o
}

// callItem appends a call that the application runs.
func (b *responsesInput) callItem(g *responsesGroup, withID bool) error {
	call := g.first().FunctionToolCall
	id := b.ids.Call(call.CallID)
	b.kinds[call.CallID] = "function_call"
	if raw := g.raw(); raw != nil {
		v, err := kit.DecodeOrdered(raw)
		o, ok := v.(kit.Object)
		if err != nil || !ok {
			return fmt.Errorf("the call of tool %q has an Extra that is no item: %w", call.Name, err)
		}
		kind, _ := o.Get("type").(string)
		b.kinds[call.CallID] = kind
		if o.Get("call_id") != nil {
			o.Set("call_id", id)
		}
		if !withID && isOptionalResponsesID(kind) {
			o.Set("id", nil)
		}
		b.items = append(b.items, o)
		return nil
	}
	o := kit.Object{{Key: "type", Value: "function_call"}}
	if withID {
		o.SetText("id", g.id)
	}
	o.Set("call_id", id)
	o.Set("name", call.Name)
	o.Set("arguments", kit.ArgumentsText(call.Arguments, true))
	var fields map[string]any
	if text := kit.ExtraText(g.first().Extra, responsesCallKey); json.Unmarshal([]byte(text), &fields) == nil {
		o.Merge(fields)
	}
	b.items = append(b.items, o)
	return nil
}

// isOptionalResponsesID reports whether calls of a type can be sent without an ID.
func isOptionalResponsesID(kind string) bool {
	return kind != "computer_call" && kind != "local_shell_call"
}

// hostedItem appends what the server ran, as it was. An approval that the server asked for is always sent, as the
// answer to it refers to it.
func (b *responsesInput) hostedItem(g *responsesGroup, hosted bool) error {
	raw := g.raw()
	if call := g.first().ServerToolCall; call != nil && isCustomCall(raw) {
		return nil // a step of a tool of the server, which as an item would want a result
	}
	if raw == nil || !hosted && g.first().MCPToolApprovalRequest == nil {
		return b.imageInputs(g)
	}
	for _, block := range g.blocks {
		if block.AssistantGenImage == nil || g.first().ServerToolCall == nil {
			continue
		}
		v, err := kit.DecodeOrdered(raw)
		if o, ok := v.(kit.Object); ok && err == nil {
			o.Set("result", block.AssistantGenImage.Base64Data)
			b.items = append(b.items, o)
			return nil
		}
	}
	b.items = append(b.items, raw)
	return nil
}

func isCustomCall(raw json.RawMessage) bool {
	var head struct{ Type string }
	return json.Unmarshal(raw, &head) == nil && head.Type == "custom_tool_call"
}

// imageInputs appends images of an answer as such of the user, as answers can have none.
func (b *responsesInput) imageInputs(g *responsesGroup) error {
	for _, block := range g.blocks {
		image := block.AssistantGenImage
		if image == nil {
			continue
		}
		part, err := responsesImagePart(
			&schema.UserInputImage{URL: image.URL, Base64Data: image.Base64Data, MIMEType: image.MIMEType}, nil)
		if err != nil {
			return err
		}
		b.items = append(b.items, kit.Object{{Key: "role", Value: "user"}, {Key: "content", Value: []any{
			kit.Object{{Key: "type", Value: "input_text"}, {Key: "text", Value: "The image that you made:"}}, part,
		}}})
	}
	return nil
}
