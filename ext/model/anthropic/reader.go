package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/claude"
)

// A reader reads an answer, over as many requests as it takes. It implements kit.Chunks.
type reader struct {
	ctx  context.Context
	call *call
	// indexed says that blocks have indexes, as in streams.
	indexed bool

	kit.Hops

	events *kit.Events // of the current request, nil for a whole answer
	event  wireEvent
	// blocks are the blocks that have begun, by the index that the server gives them. last is the one that the latest event
	// was about, at lastAt.
	blocks map[int]*answerBlock
	last   *answerBlock
	lastAt int
	// base is the index of the first block of the current request, next the one behind the last. taken are those that
	// are in use.
	base, next int
	taken      map[int]bool
	// count is the number of blocks that the server has begun. calls are the blocks among them that call the application.
	count int
	calls []*answerBlock
	// queued is the next chunk, nil if that has to be read.
	queued *schema.AgenticMessage
	// strays are the blocks for pieces that the server sent in a block of another kind, or in one that it did not begin.
	strays map[stray]*answerBlock

	usage usage // of the current request
	total *schema.TokenUsage
	raws  string // the accounts of the requests before
	// sent are the blocks of this answer as they are sent back when the server pauses.
	sent   []json.RawMessage
	pauses int

	begun      bool // the first chunk is out
	id         string
	hasContent bool
	end        ending
	done       bool
}

// An ending is how the server says that an answer has ended.
type ending struct {
	StopReason   string              `json:"stop_reason"`
	StopSequence string              `json:"stop_sequence"`
	StopDetails  *claude.StopDetails `json:"stop_details"`
	Container    json.RawMessage     `json:"container"`
}

// add takes what an event says about the end.
func (e *ending) add(more *ending) {
	e.StopReason, e.StopSequence = or(more.StopReason, e.StopReason), or(more.StopSequence, e.StopSequence)
	if more.StopDetails != nil {
		e.StopDetails = more.StopDetails
	}
	if len(more.Container) > 0 {
		e.Container = more.Container
	}
}

// wireEvent is an event of a stream.
type wireEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Delta        wireDelta       `json:"delta"`
	ContentBlock json.RawMessage `json:"content_block"`
	Message      json.RawMessage `json:"message"`
	Usage        json.RawMessage `json:"usage"`
}

// wireDelta is a piece of a block, or how the answer has ended.
type wireDelta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	PartialJSON string          `json:"partial_json"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	Citation    json.RawMessage `json:"citation"`
	ending
}

// wireHead is an answer as it begins.
type wireHead struct {
	ID    string          `json:"id"`
	Model string          `json:"model"`
	Usage json.RawMessage `json:"usage"`
}

// wireMessage is a whole answer.
type wireMessage struct {
	wireHead
	Content wireContent `json:"content"`
	ending
}

// wireContent is the blocks of an answer. Servers that speak the API by themselves send a text instead of a list.
type wireContent []json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (c *wireContent) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		*c = wireContent{slices.Concat([]byte(`{"type":"text","text":`), data, []byte("}"))}
		return nil
	}
	return json.Unmarshal(data, (*[]json.RawMessage)(c))
}

func newReader(ctx context.Context, c *call, resp *kit.Response, stream bool) *reader {
	r := &reader{ctx: ctx, call: c, indexed: stream || resp.IsStream()}
	r.read(resp)
	return r
}

// read makes a response the current one.
func (r *reader) read(resp *kit.Response) {
	r.Follow(resp)
	r.base, r.usage, r.end = r.next, usage{}, ending{}
	r.blocks, r.last, r.strays = map[int]*answerBlock{}, nil, nil
	r.events = nil
	if resp.IsStream() {
		r.events = resp.EventsFrom(r.call.e.backend.Events(resp))
	}
}

// Next implements kit.Chunks.
func (r *reader) Next() (*schema.AgenticMessage, error) {
	for !r.done {
		if m := r.queued; m != nil {
			r.queued = nil
			return m, nil
		}
		var m *schema.AgenticMessage
		var err error
		if r.events == nil {
			m, err = r.whole()
		} else {
			m, err = r.nextEvent()
		}
		if m != nil || err != nil {
			return m, err
		}
	}
	return nil, io.EOF
}

// nextEvent reads an event and returns the chunk that it makes, nil if it makes none.
func (r *reader) nextEvent() (*schema.AgenticMessage, error) {
	data, err := r.events.Next()
	switch {
	case err == io.EOF, err == kit.ErrDone:
		return nil, r.Response().Cut("message_stop")
	case err != nil:
		return nil, err
	}
	e := &r.event
	*e = wireEvent{ContentBlock: e.ContentBlock[:0], Message: e.Message[:0], Usage: e.Usage[:0]}
	if decodeDelta(data, e) {
		return r.delta(e, data)
	}
	if err := kit.DecodeLenient(data, e); err != nil {
		return nil, r.Response().NotUnderstood(data, err)
	}
	switch e.Type {
	case "content_block_delta":
		return r.delta(e, data)
	case "content_block_start":
		return r.start(e)
	case "content_block_stop":
		return r.stop(e.Index), nil
	case "message_start":
		return r.messageStart(e)
	case "message_delta":
		r.usage.add(e.Usage)
		r.end.add(&e.Delta.ending)
	case "message_stop":
		return r.messageStop()
	case "error", "":
		if e := kit.ParseError(data); e != nil {
			return nil, r.Response().Refusal(e)
		}
	}
	return nil, nil // a ping, or something new
}

func (r *reader) messageStart(e *wireEvent) (*schema.AgenticMessage, error) {
	if r.next > r.base { // a server in between asked again, and the blocks of the first answer are out
		return nil, r.Response().Cut("message_stop, and another message began in it")
	}
	var m wireHead
	if err := kit.DecodeLenient(e.Message, &m); err != nil {
		return nil, r.Response().NotUnderstood(e.Message, err)
	}
	r.usage.add(m.Usage)
	return r.first(&m), nil
}

// first returns the chunk that says who answers.
func (r *reader) first(m *wireHead) *schema.AgenticMessage {
	out := &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant,
		ResponseMeta: &schema.AgenticResponseMeta{
			ID: m.ID, Model: m.Model, Provider: r.call.e.info.System,
		},
	}
	r.id = m.ID
	if !r.begun {
		r.begun = true
		r.call.e.origin.Mark(&out.Extra)
		r.call.unsupported.Note(&out.Extra)
	}
	return out
}

func (r *reader) start(e *wireEvent) (*schema.AgenticMessage, error) {
	b, err := r.newBlock(append(json.RawMessage{}, e.ContentBlock...))
	if err != nil {
		return nil, err
	}
	r.blocks[e.Index] = b
	r.last, r.lastAt = b, e.Index
	b.at = r.place(e.Index)
	before := r.endedWithout()
	r.counted(b)
	m := r.chunk(b.begin(), b.at)
	if before != nil {
		m, r.queued = before, m
	}
	return m, nil
}

// counted notes a block that the server has begun.
func (r *reader) counted(b *answerBlock) {
	r.count++
	b.nth = r.count
	if b.isCall() {
		r.calls = append(r.calls, b)
	}
}

// place returns the index in the answer for a new block: the server's index, unless another block has it, as with
// servers that do not count.
func (r *reader) place(index int) int {
	at := r.base + index
	if index < 0 || r.taken[at] {
		at = r.next
	}
	if r.taken == nil {
		r.taken = map[int]bool{}
	}
	r.taken[at] = true
	r.next = max(r.next, at+1)
	return at
}

func (r *reader) newBlock(raw json.RawMessage) (*answerBlock, error) {
	b := &answerBlock{raw: raw, keep: r.call.mayPause()}
	if err := kit.DecodeLenient(raw, &b.wireBlock); err != nil {
		return nil, r.Response().NotUnderstood(raw, err)
	}
	b.isAnswer = b.Type == "tool_use" && b.Name == r.call.answerTool && b.Name != ""
	b.keep = b.keep || b.isOpaque()
	return b, nil
}

// delta takes a piece of a block; data is the whole event.
func (r *reader) delta(e *wireEvent, data []byte) (*schema.AgenticMessage, error) {
	b := r.last
	if b == nil || r.lastAt != e.Index {
		b = r.blocks[e.Index]
		r.last, r.lastAt = b, e.Index
	}
	if b == nil || !b.takes(e.Delta.Type) {
		return r.stray(e, b)
	}
	if e.Delta.Type == "text_delta" && b.Type == "text" && e.Delta.Text != "" {
		b.keepText(e.Delta.Text)
		return r.textChunk(e.Delta.Text, b.at), nil
	}
	return r.chunk(b.add(&e.Delta, data), b.at), nil
}

// textChunk is [reader.chunk] for a piece of text, in one allocation.
func (r *reader) textChunk(text string, at int) *schema.AgenticMessage {
	r.hasContent = true
	c := &struct {
		message schema.AgenticMessage
		block   schema.ContentBlock
		text    schema.AssistantGenText
		meta    schema.StreamingMeta
		list    [1]*schema.ContentBlock
	}{}
	c.text.Text = text
	c.block.Type, c.block.AssistantGenText = schema.ContentBlockTypeAssistantGenText, &c.text
	if r.indexed {
		c.meta.Index = at
		c.block.StreamingMeta = &c.meta
	}
	c.list[0] = &c.block
	c.message.Role, c.message.ContentBlocks = schema.AgenticRoleTypeAssistant, c.list[:]
	return &c.message
}

func (r *reader) stop(index int) *schema.AgenticMessage {
	b := r.blocks[index]
	if b == nil {
		return nil
	}
	b.stopped = true
	delete(r.blocks, index)
	if r.last == b {
		r.last = nil
	}
	if b.keep {
		r.sent = append(r.sent, b.wire())
	}
	return r.chunk(b.end(), b.at)
}

// chunk returns a chunk with one block, nil without one.
func (r *reader) chunk(b *schema.ContentBlock, at int) *schema.AgenticMessage {
	if b == nil {
		return nil
	}
	r.hasContent = r.hasContent || b.Type != schema.ContentBlockTypeReasoning
	if r.indexed {
		b.StreamingMeta = &schema.StreamingMeta{Index: at}
	}
	return &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{b},
	}
}

// messageStop ends a request: with the last chunk, or with the next request of an answer that was paused.
func (r *reader) messageStop() (*schema.AgenticMessage, error) {
	out := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	r.stopOpen(out)
	if r.canContinue() {
		if len(out.ContentBlocks) == 0 {
			out = nil
		}
		return out, r.resume()
	}
	return out, r.finish(out)
}

// stopOpen ends the blocks that the server has not ended, into the last chunk. In an answer that was cut off a call
// among them stays as it is, as the rest of it is missing.
func (r *reader) stopOpen(out *schema.AgenticMessage) {
	if len(r.blocks) == 0 {
		return
	}
	for _, index := range slices.Sorted(maps.Keys(r.blocks)) {
		if r.blocks[index].Type == "tool_use" && r.end.isCutOff() {
			continue
		}
		if m := r.stop(index); m != nil {
			out.ContentBlocks = append(out.ContentBlocks, m.ContentBlocks...)
		}
	}
}

// finish says in the last chunk how the answer has ended.
func (r *reader) finish(out *schema.AgenticMessage) error {
	r.done = true
	end := &r.end
	kit.SetFinishReason(out, end.StopReason)
	r.endCalls(out)
	if !r.hasContent && r.call.maxTokens > 0 {
		detail := ""
		if end.StopDetails != nil {
			detail = end.StopDetails.Explanation
		}
		if err := kit.CheckStopped(provider, end.StopReason, detail, out); err != nil {
			return err
		}
	}
	if out.ResponseMeta == nil {
		out.ResponseMeta = new(schema.AgenticResponseMeta)
	}
	out.ResponseMeta.TokenUsage = kit.AddUsage(r.total, r.usage.tokens())
	out.ResponseMeta.ClaudeExtension = &claude.ResponseMetaExtension{
		ID: r.id, StopReason: end.StopReason, StopSequence: end.StopSequence, StopDetails: end.StopDetails,
	}
	kit.SetExtra(&out.Extra, kit.UsageRawKey, r.raws+kit.RawUsage(r.usage.raw()))
	kit.SetExtra(&out.Extra, kit.ServiceTierKey, r.usage.serviceTier())
	if len(end.Container) > 0 && string(end.Container) != "null" {
		kit.SetExtra(&out.Extra, containerKey, string(end.Container))
	}
	return nil
}

// whole reads an answer that is no stream.
func (r *reader) whole() (*schema.AgenticMessage, error) {
	data, err := r.Response().Document()
	if err != nil {
		return nil, err
	}
	var m wireMessage
	if err := kit.DecodeLenient(data, &m); err != nil {
		return nil, r.Response().NotUnderstood(data, err)
	}
	if m.Content == nil {
		if e := kit.ParseError(data); e != nil && e.Message != "" {
			return nil, r.Response().Refusal(e)
		}
		return nil, r.Response().NotUnderstood(data, errors.New("neither an answer nor an error"))
	}
	out := r.first(&m.wireHead)
	r.usage.set(m.Usage)
	r.end = m.ending
	for i, raw := range m.Content {
		b, err := r.newBlock(raw)
		if err != nil {
			return nil, err
		}
		r.counted(b)
		r.addWhole(out, b, r.place(i))
	}
	if r.canContinue() {
		return out, r.resume()
	}
	return out, r.finish(out)
}

// addWhole adds a block that came whole.
func (r *reader) addWhole(out *schema.AgenticMessage, b *answerBlock, at int) {
	begun, ended := b.begin(), b.end()
	if b.keep {
		r.sent = append(r.sent, b.raw)
	}
	switch {
	case begun == nil:
		begun = ended
	case ended == nil:
	case begun.FunctionToolCall != nil:
		begun.FunctionToolCall.Arguments = ended.FunctionToolCall.Arguments
	case begun.Reasoning != nil:
		begun.Reasoning.Signature = ended.Reasoning.Signature
	}
	if m := r.chunk(begun, at); m != nil {
		out.ContentBlocks = append(out.ContentBlocks, m.ContentBlocks...)
	}
	if b.isCall() {
		b.at, b.whole = at, begun
	}
}
