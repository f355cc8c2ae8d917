package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// endTime limits how long the server may be silent after it has said why the answer ended. Old models say it in every
// event, so that only the end of the stream is the end.
const endTime = 2 * time.Second

// maxHops is the number of times that one answer is continued.
const maxHops = 8

// A reader reads an answer, over as many requests as it takes. It implements kit.Chunks.
type reader struct {
	ctx  context.Context
	call *call

	kit.Hops

	events *kit.Events // of the current request, nil for one that came whole
	// indexed says that blocks have indexes, as in streams.
	indexed bool
	list    []json.RawMessage // the events of a response that came as a JSON list
	event   wireEvent
	text    textEvent
	ending  *time.Timer // closes the response when the server stays silent after the end
	final   []byte      // the event that said the reason, which proxies have been seen to repeat

	// kind is the type of the block that the next part may belong to, index is the index of the block, -1 before the
	// first.
	kind  schema.ContentBlockType
	index int

	// parts counts what came of the answer. calls are the calls among that, in room while there are few.
	parts int
	calls []placedCall
	room  [4]placedCall

	begun, hasContent, hasCalls, done bool
	end                               ending
	// token continues the answer with another request. hops counts those.
	token json.RawMessage
	hops  int
}

func newReader(ctx context.Context, c *call, resp *kit.Response) *reader {
	r := &reader{ctx: ctx, call: c, index: -1}
	r.read(resp)
	return r
}

// read makes a response the current one.
func (r *reader) read(resp *kit.Response) {
	r.Follow(resp)
	r.events, r.token, r.final = nil, nil, nil
	if resp.IsStream() {
		r.events, r.indexed = resp.Events(), true
	}
}

// Next implements kit.Chunks.
func (r *reader) Next() (*schema.AgenticMessage, error) {
	if r.done {
		return nil, io.EOF
	}
	if r.events == nil && r.list == nil {
		return r.whole()
	}
	for {
		data, err := r.nextEvent()
		if err == io.EOF {
			out := newMessage()
			again, err := r.atEnd(out)
			if err != nil || !again {
				return out, err
			}
			if r.events == nil && r.list == nil { // the server does not stream any more
				return r.whole()
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := r.take(data, nil)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// nextEvent returns the next event, and io.EOF behind the last one of a response that is complete.
func (r *reader) nextEvent() ([]byte, error) {
	if r.events == nil {
		if len(r.list) == 0 {
			return nil, r.complete()
		}
		data := r.list[0]
		r.list = r.list[1:]
		return data, nil
	}
	if r.end.reason != "" {
		if r.ending == nil {
			r.ending = time.AfterFunc(endTime, r.Response().Close)
		} else {
			r.ending.Reset(endTime)
		}
		defer r.ending.Stop()
	}
	data, err := r.events.Next()
	switch {
	case err == nil:
		return data, nil
	case r.end.reason != "": // everything is here, however the connection ends
		return nil, io.EOF
	case err == io.EOF, err == kit.ErrDone:
		return nil, r.complete()
	}
	return nil, err
}

// complete returns io.EOF if the server has said why the answer ended.
func (r *reader) complete() error {
	if r.end.reason != "" {
		return io.EOF
	}
	return r.Response().Cut("a finishReason")
}

// take reads an event into a message, a new one if out is nil. It returns nil for an event without anything for the
// application.
func (r *reader) take(data []byte, out *schema.AgenticMessage) (*schema.AgenticMessage, error) {
	if r.end.reason != "" && len(r.final) > 0 && bytes.Equal(data, r.final) {
		return nil, nil
	}
	if out == nil && r.begun && r.indexed {
		if m := r.textChunk(data); m != nil {
			return m, nil
		}
	}
	e := &r.event
	e.reset()
	if err := kit.DecodeLenient(data, e); err != nil {
		return nil, r.Response().NotUnderstood(data, err)
	}
	if len(e.Error) > 0 {
		if refused := kit.ParseError(data); refused != nil {
			return nil, r.Response().Refusal(refused)
		}
	}
	r.end.event(e)
	c := e.first()
	if c != nil && c.FinishReason != "" && r.events != nil {
		r.final = append(r.final[:0], data...) // data is valid until the next event
	}
	if c != nil {
		r.end.candidate(c)
		if len(c.ContinuationToken) > 0 {
			r.token = append(json.RawMessage{}, c.ContinuationToken...)
		}
	}
	fresh := out == nil
	if fresh {
		out = newMessage()
	}
	if c != nil {
		if err := c.check(); err != nil {
			return nil, r.Response().Failure("read the response", err)
		}
		r.takeParts(c, data, out)
	}
	if fresh && len(out.ContentBlocks) == 0 && r.begun {
		return nil, nil
	}
	r.begin(out)
	return out, nil
}

// textChunk returns the chunk for an event that is a piece of text and nothing else, as nearly all are; nil for others.
func (r *reader) textChunk(data []byte) *schema.AgenticMessage {
	r.text.id, r.text.model = r.end.id, r.end.model
	if !r.text.read(data) {
		return nil
	}
	text, ok := r.text.string()
	if !ok {
		return nil
	}
	r.end.usage.take(r.text.usage)
	c := &struct {
		message schema.AgenticMessage
		block   schema.ContentBlock
		text    schema.AssistantGenText
		meta    schema.StreamingMeta
		list    [1]*schema.ContentBlock
	}{}
	c.text.Text = text
	c.block.Type, c.block.AssistantGenText = schema.ContentBlockTypeAssistantGenText, &c.text
	r.place(c.block.Type, false)
	c.meta.Index = r.index
	c.block.StreamingMeta = &c.meta
	c.list[0] = &c.block
	c.message.Role, c.message.ContentBlocks = schema.AgenticRoleTypeAssistant, c.list[:]
	r.hasContent = true
	r.parts++
	return &c.message
}

// place finds the block that a part belongs to: the one before, for text and thinking that nothing separates.
func (r *reader) place(kind schema.ContentBlockType, signed bool) (joins bool) {
	joins = !signed && r.kind == kind
	if !joins {
		r.index++
	}
	r.kind = kind
	if signed || kind != schema.ContentBlockTypeAssistantGenText && kind != schema.ContentBlockTypeReasoning {
		r.kind = ""
	}
	return joins
}

// takeParts adds the parts of an event. Calls in an answer that the service declares malformed are left out: they must
// not be run.
func (r *reader) takeParts(c *wireCandidate, data []byte, out *schema.AgenticMessage) {
	var raws []json.RawMessage
	for i := range c.Content.Parts {
		b := c.Content.Parts[i].block(func() json.RawMessage {
			if raws == nil {
				raws = rawParts(data)
			}
			if i >= len(raws) {
				return nil
			}
			return raws[i]
		})
		if b == nil {
			continue
		}
		r.hasCalls = r.hasCalls || b.FunctionToolCall != nil
		if b.FunctionToolCall != nil && r.end.malformed() {
			continue
		}
		r.parts++
		r.add(out, b)
		if b.FunctionToolCall != nil {
			r.noteCall(b)
		}
	}
}

// A placedCall is a call of the answer: its block, with the index of that, and its number among the parts.
type placedCall struct {
	block     *schema.ContentBlock
	index, at int
}

func (r *reader) noteCall(b *schema.ContentBlock) {
	if r.calls == nil {
		r.calls = r.room[:0]
	}
	r.calls = append(r.calls, placedCall{b, r.index, r.parts})
}

// markCalls marks the complete calls of an answer that was cut off: those that something came after. The service says
// nothing of the last one: arguments that are not streamed come as an object, which is closed for the model where the
// tokens ran out, and willContinue is about arguments in pieces alone.
func (r *reader) markCalls(out *schema.AgenticMessage) {
	if !model.FinishOf(r.end.reason).CutOff() {
		return
	}
	for _, c := range r.calls {
		if c.at == r.parts {
			continue
		}
		b := c.block
		if r.indexed { // that is out
			b = schema.NewContentBlockChunk(&schema.FunctionToolCall{}, &schema.StreamingMeta{Index: c.index})
			out.ContentBlocks = append(out.ContentBlocks, b)
		}
		model.MarkWholeCall(&b.Extra)
	}
}

func (r *reader) add(out *schema.AgenticMessage, b *schema.ContentBlock) {
	text, thought := b.AssistantGenText, b.Reasoning
	r.hasContent = r.hasContent || thought == nil && (text == nil || text.Text != "")
	signed := len(b.Extra) > 0 || thought != nil && thought.Signature != ""
	joins := r.place(b.Type, signed)
	if n := len(out.ContentBlocks); joins && n > 0 {
		last := out.ContentBlocks[n-1]
		if text != nil {
			last.AssistantGenText.Text += text.Text
		} else {
			last.Reasoning.Text += thought.Text
		}
		return
	}
	if r.indexed {
		b.StreamingMeta = &schema.StreamingMeta{Index: r.index}
	}
	out.ContentBlocks = append(out.ContentBlocks, b)
}

func newMessage() *schema.AgenticMessage {
	return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
}

// begin says in the first chunk who answers.
func (r *reader) begin(out *schema.AgenticMessage) {
	if r.begun {
		return
	}
	r.begun = true
	r.call.e.origin.Mark(&out.Extra)
	r.call.unsupported.Note(&out.Extra)
	out.ResponseMeta = &schema.AgenticResponseMeta{
		ID: r.event.ResponseID, Model: r.event.ModelVersion, Provider: r.call.e.info.System,
	}
}

// atEnd is called behind the last event of a response. It continues the answer with another request, which again
// reports, or says in out how it has ended.
func (r *reader) atEnd(out *schema.AgenticMessage) (again bool, err error) {
	if r.end.reason == continuation && len(r.token) > 0 && r.hops < maxHops {
		return true, r.resume()
	}
	r.done = true
	r.begin(out)
	return false, r.end.finish(r, out)
}

// continuation is the reason of an answer that another request continues.
const continuation = "CONTINUATION"

// resume has the server continue the answer.
func (r *reader) resume() error {
	r.hops++
	body := append(kit.Object{}, r.call.body...)
	body.Set("continuationToken", r.token)
	r.end.nextHop()
	r.Response().Finish()
	resp, err := r.call.send(r.ctx, body)
	if err != nil {
		return fmt.Errorf("continue the answer (request %d): %w", r.hops+1, err)
	}
	r.read(resp)
	return nil
}

// whole reads an answer that is no stream of events, or the first of a JSON list of them.
func (r *reader) whole() (*schema.AgenticMessage, error) {
	out := newMessage()
	for {
		data, err := r.Response().Document()
		if err != nil {
			return nil, err
		}
		if data = bytes.TrimSpace(data); data[0] == '[' {
			return r.startList(data)
		}
		if _, err := r.take(data, out); err != nil {
			return nil, err
		}
		if len(r.event.Candidates) == 0 && r.end.blocked == "" && !isAnswer(data) {
			return nil, r.Response().NotUnderstood(data, errors.New("neither an answer nor an error"))
		}
		again, err := r.atEnd(out)
		if err != nil {
			return nil, err
		}
		if !again || r.events != nil {
			return out, nil
		}
	}
}

// isAnswer reports whether a document without candidates is an answer all the same.
func isAnswer(data []byte) bool {
	return bytes.Contains(data, []byte(`"usageMetadata"`)) || bytes.Contains(data, []byte(`"responseId"`)) ||
		bytes.Contains(data, []byte(`"candidates"`))
}

// startList reads a response that is a list of events, as the service sends without alt=sse.
func (r *reader) startList(data []byte) (*schema.AgenticMessage, error) {
	if err := json.Unmarshal(data, &r.list); err != nil {
		return nil, r.Response().NotUnderstood(data, err)
	}
	if len(r.list) == 0 {
		return nil, r.Response().Cut("events")
	}
	r.indexed = true
	return r.Next()
}
