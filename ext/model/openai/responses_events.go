package openai

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/openai"
)

// responsesEvent is an event of a stream, of any type.
type responsesEvent struct {
	Type       string          `json:"type"`
	Sequence   *int            `json:"sequence_number"`
	Output     int             `json:"output_index"`
	Content    int             `json:"content_index"`
	Summary    int             `json:"summary_index"`
	Place      int             `json:"annotation_index"`
	Delta      string          `json:"delta"`
	Text       string          `json:"text"`
	Refusal    string          `json:"refusal"`
	Arguments  string          `json:"arguments"`
	ItemID     string          `json:"item_id"`
	Image      string          `json:"partial_image_b64"`
	ImageIndex int             `json:"partial_image_index"`
	ImageType  string          `json:"output_format"`
	Annotation json.RawMessage `json:"annotation"`
	Item       json.RawMessage `json:"item"`
	Response   json.RawMessage `json:"response"`
}

// event returns the chunk of an event, nil for one that adds nothing to the answer. Events of unknown types add
// nothing.
func (r *responsesReader) event(e *responsesEvent) (*schema.AgenticMessage, error) {
	switch e.Type {
	case "response.output_text.delta":
		return r.text(e, e.Delta), nil
	case "response.output_text.done":
		return r.text(e, responsesSuffix(e.Text, r.item(e.Output).part(e.Content).text)), nil
	case "response.output_text.annotation.added":
		return r.annotation(e), nil
	case "response.refusal.delta":
		return r.refusal(e, e.Delta), nil
	case "response.refusal.done":
		return r.refusal(e, responsesSuffix(e.Refusal, r.item(e.Output).part(e.Content).refusal)), nil
	case "response.reasoning_summary_part.added":
		return r.summary(e, ""), nil
	case "response.reasoning_summary_text.delta":
		return r.summary(e, e.Delta), nil
	case "response.reasoning_text.delta":
		return r.thinking(e, e.Delta), nil
	case "response.reasoning_text.done":
		return r.thinking(e, responsesSuffix(e.Text, r.item(e.Output).part(0).contents[e.Content])), nil
	case "response.function_call_arguments.delta":
		return r.arguments(e, e.Delta), nil
	case "response.function_call_arguments.done":
		return r.arguments(e, responsesSuffix(e.Arguments, r.item(e.Output).part(0).text)), nil
	case "response.output_item.added":
		return r.added(e)
	case "response.output_item.done":
		return r.rest(e.Output, e.Item)
	case "response.image_generation_call.partial_image":
		r.partialImage(e)
	}
	return nil, nil
}

// A responsesChunk is a chunk with one block, in one piece of memory.
type responsesChunk struct {
	message schema.AgenticMessage
	list    [1]*schema.ContentBlock
	block   schema.ContentBlock
	meta    schema.StreamingMeta
	text    schema.AssistantGenText
	thought schema.Reasoning
}

func newResponsesChunk(kind schema.ContentBlockType, output, part int) *responsesChunk {
	c := new(responsesChunk)
	c.message.Role = schema.AgenticRoleTypeAssistant
	c.list[0] = &c.block
	c.message.ContentBlocks = c.list[:]
	c.block.Type = kind
	c.meta = *responsesBlockIndex(output, part)
	c.block.StreamingMeta = &c.meta
	return c
}

func (r *responsesReader) text(e *responsesEvent, text string) *schema.AgenticMessage {
	p := r.item(e.Output)
	if text == "" || p.done {
		return nil
	}
	p.part(e.Content).text += len(text)
	c := newResponsesChunk(schema.ContentBlockTypeAssistantGenText, e.Output, e.Content)
	c.text.Text = text
	c.block.AssistantGenText = &c.text
	r.say(&c.block)
	return &c.message
}

func (r *responsesReader) extension(e *responsesEvent, ext *openai.AssistantGenTextExtension) *schema.AgenticMessage {
	c := newResponsesChunk(schema.ContentBlockTypeAssistantGenText, e.Output, e.Content)
	c.text.OpenAIExtension = ext
	c.block.AssistantGenText = &c.text
	r.say(&c.block)
	return &c.message
}

func (r *responsesReader) annotation(e *responsesEvent) *schema.AgenticMessage {
	p := r.item(e.Output)
	part := p.part(e.Content)
	if len(e.Annotation) == 0 || part.annotations[e.Place] || p.done {
		return nil
	}
	if part.annotations == nil {
		part.annotations = map[int]bool{}
	}
	part.annotations[e.Place] = true
	a := responsesAnnotation(e.Annotation)
	a.Index = e.Place
	return r.extension(e, &openai.AssistantGenTextExtension{Annotations: []*openai.TextAnnotation{a}})
}

func (r *responsesReader) refusal(e *responsesEvent, text string) *schema.AgenticMessage {
	p := r.item(e.Output)
	if text == "" || p.done {
		return nil
	}
	p.part(e.Content).refusal += len(text)
	return r.extension(e, &openai.AssistantGenTextExtension{
		Refusal: &openai.OutputRefusal{Reason: text}, Annotations: []*openai.TextAnnotation{},
	})
}

func (r *responsesReader) thought(e *responsesEvent) *responsesChunk {
	c := newResponsesChunk(schema.ContentBlockTypeReasoning, e.Output, 0)
	c.block.Reasoning = &c.thought
	return c
}

// summary emits thinking. Between the parts of a summary is a blank line.
func (r *responsesReader) summary(e *responsesEvent, text string) *schema.AgenticMessage {
	p := r.item(e.Output)
	if p.done {
		return nil
	}
	part := p.part(0)
	if part.raw > 0 { // something else is shown already; the summary is noted with the item
		return nil
	}
	for ; part.summaries <= min(e.Summary, responsesPartsPerItem); part.summaries++ {
		if part.summaries > 0 {
			text = responsesSeparator + text
		}
	}
	if text == "" {
		return nil
	}
	part.text += len(text)
	c := r.thought(e)
	c.thought.Text = text
	return &c.message
}

func (r *responsesReader) thinking(e *responsesEvent, text string) *schema.AgenticMessage {
	p := r.item(e.Output)
	if text == "" || p.done {
		return nil
	}
	part := p.part(0)
	if part.contents == nil {
		part.contents = map[int]int{}
	}
	part.contents[e.Content] += len(text)
	index := e.Content
	c := r.thought(e)
	if part.summaries == 0 {
		c.thought.Text = part.show(e.Content, text)
	}
	c.thought.OpenAIExtension = &openai.ReasoningExtension{
		Content: []*openai.ReasoningContent{{Index: &index, Text: text}},
	}
	return &c.message
}

// show returns what is shown of a piece of thinking that is no summary: between its texts is a blank line.
func (part *responsesPartProgress) show(content int, text string) string {
	for ; part.raw <= min(content, responsesPartsPerItem); part.raw++ {
		if part.raw > 0 {
			text = responsesSeparator + text
		}
	}
	part.text += len(text)
	return text
}

// added emits the beginning of a call, so that it is seen before its arguments.
func (r *responsesReader) added(e *responsesEvent) (*schema.AgenticMessage, error) {
	item, err := decodeResponsesItem(e.Item)
	p := r.item(e.Output)
	if err != nil || item.Type != "function_call" || item.CallID == "" || item.Name == "" || p.named || p.done {
		return nil, err
	}
	if p.held = isWrapper(item.Name, r.call.allTools()); p.held {
		return nil, nil
	}
	p.named = true
	return r.callChunk(e, &schema.FunctionToolCall{CallID: item.CallID, Name: item.Name}), nil
}

func (r *responsesReader) arguments(e *responsesEvent, text string) *schema.AgenticMessage {
	p := r.item(e.Output)
	if text == "" || p.done || p.held {
		return nil
	}
	p.part(0).text += len(text)
	return r.callChunk(e, &schema.FunctionToolCall{Arguments: text})
}

func (r *responsesReader) callChunk(e *responsesEvent, call *schema.FunctionToolCall) *schema.AgenticMessage {
	c := newResponsesChunk(schema.ContentBlockTypeFunctionToolCall, e.Output, 0)
	c.block.FunctionToolCall = call
	r.say(&c.block)
	return &c.message
}

func (r *responsesReader) partialImage(e *responsesEvent) {
	if r.call.partial != nil && e.Image != "" {
		r.call.partial(r.ctx, ResponsesPartialImage{
			ItemID: e.ItemID, Index: e.ImageIndex, Base64Data: e.Image, MIMEType: responsesImageType(e.ImageType),
		})
	}
}

// last returns the last chunk of a stream: what is left of the items, and what the server says about the answer.
func (r *responsesReader) last(resp *responsesResponse) (*schema.AgenticMessage, error) {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	thought := false
	for i, raw := range resp.Output {
		rest, err := r.rest(i, raw)
		if err != nil {
			return nil, err
		}
		if rest != nil {
			m.ContentBlocks = append(m.ContentBlocks, rest.ContentBlocks...)
		}
	}
	var ids []string
	cutOff := resp.isCutOff()
	for _, i := range slices.Sorted(maps.Keys(r.items)) {
		p := r.items[i]
		ids = append(ids, p.id)
		thought = thought || p.thought
		if cutOff && p.call && p.whole {
			markWholeCall(m, i)
		}
	}
	noteResponsesItems(m, thought, ids)
	return m, r.end(m, resp)
}

// markWholeCall marks the call of an item as complete: in its block, or in one more chunk of that if it is out.
func markWholeCall(m *schema.AgenticMessage, output int) {
	meta := responsesBlockIndex(output, 0)
	i := slices.IndexFunc(m.ContentBlocks, func(b *schema.ContentBlock) bool {
		return b.FunctionToolCall != nil && b.StreamingMeta.Index == meta.Index
	})
	if i < 0 {
		i = len(m.ContentBlocks)
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlockChunk(&schema.FunctionToolCall{}, meta))
	}
	model.MarkWholeCall(&m.ContentBlocks[i].Extra)
}
