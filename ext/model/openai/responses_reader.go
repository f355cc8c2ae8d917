package openai

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/openai"
)

// responsesReader makes an answer of the events of a stream, or of a whole response. It has one owner.
type responsesReader struct {
	call    *responsesCall
	request *responsesRequest
	ctx     context.Context

	items map[int]*responsesProgress // by output index
	// said is a block that is more than thinking, if there was one.
	said *schema.ContentBlock
	// joined joins the answer, if the next request is to continue it. Nil otherwise.
	joined *schema.AgenticMessageAccumulator
}

// responsesProgress tracks what has been emitted of an item.
type responsesProgress struct {
	id      string
	thought bool // it is thinking
	named   bool // the name and the ID of a call
	done    bool // everything
	held    bool // it is a call that may have others in it
	call    bool // the item is one call of the application
	whole   bool // the server says that it is complete
	parts   map[int]*responsesPartProgress
}

// responsesPartProgress tracks what has been emitted of a part of an item.
type responsesPartProgress struct {
	text        int // bytes of text, thinking or arguments
	refusal     int // bytes
	summaries   int // parts of a summary
	raw         int // texts of thinking that were shown, as it is no summary
	annotations map[int]bool
	contents    map[int]int // bytes of texts of thinking, by index
}

// responsesPartsPerItem is the number of block indexes of an item.
const responsesPartsPerItem = 1 << 10

func responsesBlockIndex(output, part int) *schema.StreamingMeta {
	return &schema.StreamingMeta{Index: output*responsesPartsPerItem + min(part, responsesPartsPerItem-1)}
}

func (r *responsesReader) item(output int) *responsesProgress {
	p := r.items[output]
	if p == nil {
		if r.items == nil {
			r.items = map[int]*responsesProgress{}
		}
		p = &responsesProgress{parts: map[int]*responsesPartProgress{}}
		r.items[output] = p
	}
	return p
}

func (p *responsesProgress) part(i int) *responsesPartProgress {
	part := p.parts[i]
	if part == nil {
		part = &responsesPartProgress{}
		p.parts[i] = part
	}
	return part
}

// responsesSuffix returns what of a text comes behind the first n bytes.
func responsesSuffix(text string, n int) string {
	if n >= len(text) || !utf8.RuneStart(text[n]) {
		return ""
	}
	return text[n:]
}

// rest returns the chunk with everything of an item that has not been emitted, nil if there is nothing.
func (r *responsesReader) rest(output int, raw json.RawMessage) (*schema.AgenticMessage, error) {
	p := r.item(output)
	if p.done {
		return nil, nil
	}
	item, err := decodeResponsesItem(raw)
	if err != nil {
		return nil, err
	}
	p.done, p.id, p.thought, p.whole = true, item.ID, item.Type == "reasoning", item.isWhole()
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	for i, block := range r.call.blocks(item) {
		r.say(block)
		p.call = p.call || block.FunctionToolCall != nil
		if !p.takeOff(block, i) {
			continue
		}
		block.StreamingMeta = responsesBlockIndex(output, i)
		if text := block.AssistantGenText; text != nil && p.parts[i] == nil && text.OpenAIExtension != nil {
			// Joining counts the annotations of several chunks only.
			none := schema.NewContentBlockChunk(&schema.AssistantGenText{}, block.StreamingMeta)
			m.ContentBlocks = append(m.ContentBlocks, none)
		}
		m.ContentBlocks = append(m.ContentBlocks, block)
	}
	if len(m.ContentBlocks) == 0 {
		return nil, nil
	}
	return m, nil
}

func (r *responsesReader) say(block *schema.ContentBlock) {
	if r.said == nil && block.Reasoning == nil {
		r.said = block
	}
}

// takeOff takes off a block what was emitted of it. It reports whether something is left.
func (p *responsesProgress) takeOff(block *schema.ContentBlock, i int) bool {
	part, emitted := p.parts[i]
	if !emitted {
		part = &responsesPartProgress{}
	}
	switch {
	case block.AssistantGenText != nil:
		return part.takeOffText(block.AssistantGenText) || len(block.Extra) > 0 || !emitted
	case block.Reasoning != nil:
		return part.takeOffThought(block) || len(block.Extra) > 0 || !emitted
	case block.FunctionToolCall != nil:
		call := block.FunctionToolCall
		call.Arguments = responsesSuffix(call.Arguments, part.text)
		if p.named {
			call.CallID, call.Name = "", ""
		}
		return call.Arguments != "" || !p.named || len(block.Extra) > 0
	}
	return true
}

func (part *responsesPartProgress) takeOffText(text *schema.AssistantGenText) bool {
	text.Text = responsesSuffix(text.Text, part.text)
	ext := text.OpenAIExtension
	if ext == nil {
		return text.Text != ""
	}
	var left openai.AssistantGenTextExtension
	left.Annotations = []*openai.TextAnnotation{}
	for i, a := range ext.Annotations {
		if !part.annotations[i] {
			a.Index = i
			left.Annotations = append(left.Annotations, a)
		}
	}
	if ext.Refusal != nil {
		if reason := responsesSuffix(ext.Refusal.Reason, part.refusal); reason != "" || part.refusal == 0 {
			left.Refusal = &openai.OutputRefusal{Reason: reason}
		}
	}
	text.OpenAIExtension = &left
	if len(left.Annotations) == 0 && left.Refusal == nil {
		text.OpenAIExtension = nil
	}
	return text.Text != "" || text.OpenAIExtension != nil
}

func (part *responsesPartProgress) takeOffThought(block *schema.ContentBlock) bool {
	thought := block.Reasoning
	if part.raw > 0 && thought.OpenAIExtension != nil {
		if kit.ExtraText(block.Extra, responsesSummaryKey) == "" {
			noteResponsesSummary(block, []string{thought.Text})
		}
		thought.Text = responsesRawThinking(thought)
	}
	thought.Text = responsesSuffix(thought.Text, part.text)
	if ext := thought.OpenAIExtension; ext != nil {
		var left []*openai.ReasoningContent
		for i, c := range ext.Content {
			n, emitted := part.contents[i]
			if c.Text = responsesSuffix(c.Text, n); c.Text != "" || !emitted {
				c.Index = &i
				left = append(left, c)
			}
		}
		ext.Content = left
		if left == nil {
			thought.OpenAIExtension = nil
		}
	}
	return thought.Text != "" || thought.Signature != "" || thought.OpenAIExtension != nil
}

// responsesResponse is a response of the server, whole or as far as it has come.
type responsesResponse struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Status            string            `json:"status"`
	Model             string            `json:"model"`
	CreatedAt         float64           `json:"created_at"`
	Error             json.RawMessage   `json:"error"`
	Output            []json.RawMessage `json:"output"`
	Usage             json.RawMessage   `json:"usage"`
	ServiceTier       string            `json:"service_tier"`
	PreviousID        string            `json:"previous_response_id"`
	Retention         string            `json:"prompt_cache_retention"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	ContentFilters []json.RawMessage `json:"content_filters"` // Azure
	Reasoning      *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Conversation *struct {
		ID string `json:"id"`
	} `json:"conversation"`
}

// isResponse reports whether a document is a response, and not one of another API that has an ID, too.
func (r *responsesResponse) isResponse() bool {
	switch {
	case r.Object != "" && r.Object != "response":
		return false
	case r.Output != nil:
		return true
	}
	return r.ID != "" && r.Status != "" && r.Status != "completed" // it has no items yet, or failed
}

// isOver reports whether nothing more will come.
func (r *responsesResponse) isOver() bool { return r.Status != "queued" && r.Status != "in_progress" }

// failure returns the error of a response that failed or was cancelled, nil for others.
func (r *responsesResponse) failure() *kit.APIError {
	if r.Status == "cancelled" {
		return &kit.APIError{Type: "CANCELLED", Code: "cancelled", Message: "the response was cancelled"}
	}
	e := kit.ParseError(r.Error)
	if e == nil && r.Status == "failed" {
		e = &kit.APIError{Message: "the response failed, and the server does not say why"}
	}
	return e
}

// finish returns the server's word for why the answer ended: the reason if it is known, and otherwise the status, so that
// no incomplete answer passes for a complete one.
func (r *responsesResponse) finish() string {
	d := r.IncompleteDetails
	if d != nil && r.Status != "completed" && model.FinishOf(d.Reason) != model.FinishUnknown {
		return d.Reason
	}
	if r.Status == "" {
		return string(openai.ResponseStatusCompleted)
	}
	return r.Status
}

// isCutOff reports whether the answer ended before the model was done with it.
func (r *responsesResponse) isCutOff() bool { return model.FinishOf(r.finish()).CutOff() }

// end fills in what the last chunk of an answer has apart from blocks, and returns the error of an answer without any.
func (r *responsesReader) end(m *schema.AgenticMessage, resp *responsesResponse) error {
	finish := resp.finish()
	kit.SetFinishReason(m, finish)
	r.call.engine.origin.Mark(&m.Extra)
	m.ResponseMeta = r.meta(resp)
	kit.SetExtra(&m.Extra, kit.UsageRawKey, kit.RawUsage(resp.Usage))
	kit.SetExtra(&m.Extra, kit.ServiceTierKey, resp.ServiceTier)
	kit.SetExtra(&m.Extra, filterResultsKey, kit.JoinObjects(resp.ContentFilters))
	kit.SetExtra(&m.Extra, ResponsesPreviousLostKey, r.request.lost)
	if resp.Conversation != nil {
		kit.SetExtra(&m.Extra, responsesConversationKey, resp.Conversation.ID)
	}
	r.request.unsupported.Note(&m.Extra)
	stub := &schema.AgenticMessage{Extra: m.Extra}
	if r.said != nil {
		stub.ContentBlocks = []*schema.ContentBlock{r.said}
	}
	return kit.CheckStopped("openai", finish, "", stub)
}

func (r *responsesReader) meta(resp *responsesResponse) *schema.AgenticResponseMeta {
	ext := &openai.ResponseMetaExtension{
		ID: resp.ID, Status: openai.ResponseStatus(resp.Status), PreviousResponseID: resp.PreviousID,
		ServiceTier: openai.ServiceTier(resp.ServiceTier), CreatedAt: int64(resp.CreatedAt),
		PromptCacheRetention: openai.PromptCacheRetention(resp.Retention),
	}
	if resp.Retention == "in_memory" {
		ext.PromptCacheRetention = openai.PromptCacheRetentionInMemory
	}
	if d := resp.IncompleteDetails; d != nil {
		ext.IncompleteDetails = &openai.IncompleteDetails{Reason: d.Reason}
	}
	if reasoning := resp.Reasoning; reasoning != nil && *reasoning != (struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	}{}) {
		ext.Reasoning = &openai.Reasoning{
			Effort: openai.ReasoningEffort(reasoning.Effort), Summary: openai.ReasoningSummary(reasoning.Summary),
		}
	}
	return &schema.AgenticResponseMeta{
		ID: resp.ID, Model: resp.Model, Provider: responsesSystem, TokenUsage: responsesUsage(resp.Usage),
		OpenAIExtension: ext,
	}
}

// responsesUsage returns the usage, nil if the server does not say it.
func responsesUsage(raw json.RawMessage) *schema.TokenUsage {
	if kit.RawUsage(raw) == "" {
		return nil
	}
	var u struct {
		Input   kit.Count `json:"input_tokens"`
		Total   kit.Count `json:"total_tokens"`
		Details struct {
			Cached  kit.Count `json:"cached_tokens"`
			Written kit.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output        kit.Count `json:"output_tokens"`
		OutputDetails struct {
			Reasoning kit.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if kit.DecodeLenient(raw, &u) != nil {
		return nil
	}
	return kit.Counts{
		Prompt: u.Input, Completion: u.Output, Total: u.Total,
		Cached: u.Details.Cached, Written: u.Details.Written, Reasoning: u.OutputDetails.Reasoning,
	}.Tokens()
}

// noteResponsesItems notes the IDs of the items of an answer with thinking.
func noteResponsesItems(m *schema.AgenticMessage, thought bool, ids []string) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	if thought && len(ids) > 0 {
		text, _ := kit.Encode(ids) // of texts: cannot fail
		kit.SetExtra(&m.Extra, responsesItemsKey, string(text))
	}
}

// whole returns the answer that a response is.
func (r *responsesReader) whole(resp *responsesResponse) (*schema.AgenticMessage, error) {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	var ids []string
	thought := false
	for _, raw := range resp.Output {
		item, err := decodeResponsesItem(raw)
		if err != nil {
			return nil, err
		}
		ids = append(ids, item.ID)
		thought = thought || item.Type == "reasoning"
		blocks := r.call.blocks(item)
		m.ContentBlocks = append(m.ContentBlocks, blocks...)
		for _, block := range blocks {
			r.say(block)
			if block.FunctionToolCall != nil && item.isWhole() && resp.isCutOff() {
				model.MarkWholeCall(&block.Extra)
			}
		}
	}
	noteResponsesItems(m, thought, ids)
	if err := r.end(m, resp); err != nil {
		return nil, err
	}
	r.mark(m, m)
	return m, nil
}

// mark notes the hash of the conversation in the last chunk, if the next request is to continue the answer.
func (r *responsesReader) mark(answer, last *schema.AgenticMessage) {
	if r.call.conf.PreviousResponse && answer != nil {
		r.call.markHistory(r.request.history, answer, last)
	}
}
