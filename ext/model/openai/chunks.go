package openai

import (
	"io"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// chunks reads the messages, or the chunks of one, out of a response.
type chunks struct {
	resp      *kit.Response
	events    *kit.Events // nil for a whole answer
	assembler assembler
	quota     quota
	// same recognises chunks that are nothing but a text, as nearly all are; text is the place of it among the holes.
	same kit.Pattern
	text int
	// read says that the whole answer was returned, and end is what Next returns from here on.
	end error
	// all is the answer so far, to find out at its end whether it has content.
	empty bool
}

// holes are the fields in which the chunks of one answer differ.
var holes = []string{"content", "obfuscation"}

func newChunks(c *call, resp *kit.Response) *chunks {
	s := &chunks{resp: resp, empty: true, assembler: assembler{
		call: c, requestID: kit.RequestID(resp.Header), whole: !resp.IsStream(), calls: callTracker{offered: c.tools()},
	}}
	if c.profile.ThinkTags {
		s.assembler.tags = new(thinkTags)
	}
	if !s.assembler.whole {
		s.events = resp.Events()
	}
	return s
}

// Finish implements [kit.Chunks].
func (s *chunks) Finish() { s.resp.Finish() }

// Close implements [kit.Chunks].
func (s *chunks) Close() { s.resp.Close() }

// Next implements [kit.Chunks].
func (s *chunks) Next() (*schema.Message, error) {
	for s.end == nil {
		m, err := s.next()
		if err != nil || m != nil {
			return m, err
		}
	}
	return nil, s.end
}

// next returns the message of the next document, nil if it says nothing.
func (s *chunks) next() (*schema.Message, error) {
	data, err := s.document()
	switch {
	case err == io.EOF, err == kit.ErrDone:
		return s.last(err)
	case err != nil:
		return nil, err
	}
	if values, ok := s.same.Match(data); ok {
		if text, ok := kit.Text(values[s.text]); ok {
			s.quota.chunks++
			return &schema.Message{Role: schema.Assistant, Content: text}, nil
		}
	}
	m, err := s.message(data)
	if err == nil && m != nil {
		s.learn(data, m)
		s.empty = s.empty && kit.IsEmpty(m) && kit.ExtraText(m.Extra, refusalKey) == ""
	}
	return m, err
}

// document returns the next document of the response.
func (s *chunks) document() ([]byte, error) {
	if s.events != nil {
		return s.events.Next()
	}
	if s.quota.chunks > 0 {
		return nil, kit.ErrDone
	}
	s.quota.chunks++
	return s.resp.Document()
}

// learn notes what a chunk of text looks like.
func (s *chunks) learn(data []byte, m *schema.Message) {
	if s.events == nil || s.assembler.tags != nil || s.assembler.call.profile.Cumulative || !isText(m) {
		return
	}
	s.same.Learn(data, holes...)
	texts := 0
	for i, name := range s.same.Holes() {
		if name == "content" {
			s.text = i
			texts++
		}
	}
	if texts != 1 {
		s.same.Forget()
	}
}

// isText reports whether a chunk is nothing but a text.
func isText(m *schema.Message) bool {
	return m.Content != "" && m.ReasoningContent == "" && len(m.ToolCalls) == 0 && m.ResponseMeta == nil &&
		len(m.AssistantGenMultiContent) == 0 && len(m.Extra) == 0
}

// last returns what is left when the response has ended, and decides whether the answer is complete.
func (s *chunks) last(reason error) (*schema.Message, error) {
	a := &s.assembler
	switch optional := a.call.profile.FinishOptional; {
	case a.whole && !a.answered:
		return nil, s.resp.NoAnswer()
	case !a.answered && reason == kit.ErrDone:
		return nil, s.resp.NoAnswer()
	case a.whole, a.finish != "":
	case (optional || a.usage != "") && reason == kit.ErrDone && !a.calls.incomplete(): // the account is the last word
	default:
		return nil, s.resp.Cut("a finish reason (Profile.FinishOptional takes [DONE] for one)")
	}
	s.end = io.EOF
	m := a.rest()
	if m != nil {
		s.empty = s.empty && kit.IsEmpty(m)
	}
	if s.empty {
		stub := &schema.Message{ResponseMeta: &schema.ResponseMeta{FinishReason: a.finish}}
		if err := kit.CheckStopped("openai", a.finish, a.said.FilterResults, stub); err != nil {
			return nil, err
		}
	}
	if m == nil {
		return nil, io.EOF
	}
	return m, nil
}

// message returns what a document of the response says, or nil if that is nothing.
func (s *chunks) message(data []byte) (*schema.Message, error) {
	if s.events != nil {
		s.quota.chunks++
	}
	var c completion
	if err := kit.DecodeLenient(data, &c); err != nil {
		return nil, s.resp.NotUnderstood(data, err)
	}
	if e := c.failure(data, s.assembler.whole); e != nil {
		return nil, s.resp.Refusal(e)
	}
	m := s.assembler.message(&c)
	if m == nil {
		return nil, nil
	}
	calls := len(s.assembler.calls.all)
	if s.assembler.whole {
		calls = len(m.ToolCalls)
	}
	if err := s.quota.message(m, calls); err != nil {
		return nil, s.resp.Failure("read the response", err)
	}
	return m, nil
}

// A quota counts what the documents of one response add up to.
type quota struct {
	chunks, pieces, logProbs int
}

// message counts what a message adds to the answer, which has so many calls by now.
func (q *quota) message(m *schema.Message, calls int) error {
	q.pieces += len(m.ToolCalls) + len(m.AssistantGenMultiContent)
	if m.ResponseMeta != nil && m.ResponseMeta.LogProbs != nil {
		for _, token := range m.ResponseMeta.LogProbs.Content {
			q.logProbs += 1 + len(token.TopLogProbs)
		}
	}
	switch {
	case calls > maxToolCalls:
		return kit.ErrTooMany("tool calls", maxToolCalls)
	case q.pieces > maxPieces:
		return kit.ErrTooMany("pieces of tool calls and media", maxPieces)
	case q.logProbs > maxLogProbs:
		return kit.ErrTooMany("log probabilities", maxLogProbs)
	}
	return nil
}
