package openai

import (
	"errors"
	"io"
	"strconv"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// responsesChunks implements [kit.Chunks] for one response of the HTTP server. A response that is made in the
// background may need more of them.
//
// It is in one of these states, which only Next changes:
//
//	reading  events are being read, or the document has not been
//	ended    the last chunk was returned, or there will be none
type responsesChunks struct {
	reader *responsesReader
	ended  bool
	// background continues after a lost connection. Nil if the response is not made in the background.
	background *responsesBackground
	chunks     int // that were returned

	kit.Hops
	events *kit.Events // of the current response; nil if that is a document
	// same recognises events that differ from event only in a piece of text, as nearly all do.
	same  kit.Pattern
	piece responsesEvent
}

// responsesHoles are the fields in which the events of one text differ.
var responsesHoles = []string{"delta", "obfuscation", "sequence_number"}

// responsesEnd names the events that a stream ends with.
const responsesEnd = "response.completed, response.incomplete or response.failed"

// Next implements [kit.Chunks].
func (c *responsesChunks) Next() (*schema.AgenticMessage, error) {
	for !c.ended {
		m, err := c.next()
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		c.chunks++
		if err := c.join(m); err != nil {
			return nil, err
		}
		return m, nil
	}
	return nil, io.EOF
}

// next returns the next chunk, nil if what was read has none.
func (c *responsesChunks) next() (*schema.AgenticMessage, error) {
	if c.events == nil {
		return c.document()
	}
	data, err := c.events.Next()
	switch {
	case err == io.EOF, err == kit.ErrDone:
		err = c.Response().Cut(responsesEnd)
		fallthrough
	case err != nil:
		return nil, c.reconnect(err)
	}
	if c.isPiece(data) {
		return c.event(&c.piece, data)
	}
	var e responsesEvent
	if err := kit.DecodeLenient(data, &e); err != nil {
		return nil, c.Response().NotUnderstood(data, err)
	}
	if e.Delta != "" {
		c.learn(&e, data)
	}
	return c.event(&e, data)
}

// isPiece reports whether an event is like the event of the latest piece of text, and reads what differs.
func (c *responsesChunks) isPiece(data []byte) bool {
	values, ok := c.same.Match(data)
	if !ok {
		return false
	}
	for i, name := range c.same.Holes() {
		switch name {
		case "delta":
			c.piece.Delta, ok = kit.Text(values[i])
		case "sequence_number":
			n, err := strconv.Atoi(string(values[i]))
			c.piece.Sequence, ok = &n, ok && err == nil
		}
	}
	return ok
}

// learn notes what the event of a piece of text looks like, if it has the fields that differ once.
func (c *responsesChunks) learn(e *responsesEvent, data []byte) {
	c.same.Learn(data, responsesHoles...)
	seen := map[string]bool{}
	for _, name := range c.same.Holes() {
		if seen[name] {
			c.same.Forget()
			return
		}
		seen[name] = true
	}
	c.piece = *e
	if !seen["delta"] {
		c.same.Forget()
	}
}

// event returns the chunk of an event.
func (c *responsesChunks) event(e *responsesEvent, data []byte) (*schema.AgenticMessage, error) {
	if c.background != nil && !c.background.isNew(e) {
		return nil, nil
	}
	switch e.Type {
	case "error":
		return nil, c.Response().Refusal(responsesErrorOf(kit.ParseError(data)))
	case "":
		if failure := kit.ParseError(data); failure != nil {
			return nil, c.Response().Refusal(failure)
		}
		return nil, nil
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return c.last(e)
	}
	m, err := c.reader.event(e)
	if err != nil {
		return nil, c.Response().NotUnderstood(data, err)
	}
	return m, nil
}

func responsesErrorOf(e *kit.APIError) *kit.APIError {
	if e == nil {
		return &kit.APIError{Message: "the server reports an error, and does not say which"}
	}
	return e
}

// last returns the last chunk of a stream.
func (c *responsesChunks) last(e *responsesEvent) (*schema.AgenticMessage, error) {
	var resp responsesResponse
	if err := kit.DecodeLenient(e.Response, &resp); err != nil {
		return nil, c.Response().NotUnderstood(e.Response, err)
	}
	if resp.Status == "" {
		resp.Status = e.Type[len("response."):]
	}
	return c.finish(&resp)
}

// document reads a whole response, for which the server may have to be asked again.
func (c *responsesChunks) document() (*schema.AgenticMessage, error) {
	data, err := c.Response().Document()
	if err != nil {
		return nil, err
	}
	var resp responsesResponse
	if err := kit.DecodeLenient(data, &resp); err != nil {
		return nil, c.Response().NotUnderstood(data, err)
	}
	if !resp.isResponse() {
		return nil, c.noResponse(data)
	}
	if c.background != nil {
		c.background.started(resp.ID)
	}
	if resp.isOver() {
		return c.finish(&resp)
	}
	if c.background == nil {
		return nil, c.Response().NotUnderstood(data, errors.New("the response is not finished"))
	}
	return nil, c.poll()
}

// noResponse returns the error for a document that is no response.
func (c *responsesChunks) noResponse(data []byte) error {
	if failure := kit.ParseError(data); failure != nil && failure.Message != "" {
		return c.Response().Refusal(failure)
	}
	return c.Response().NotUnderstood(data, errors.New("it is no response"))
}

// finish returns the last chunk of an answer, or all of it if nothing was emitted before.
func (c *responsesChunks) finish(resp *responsesResponse) (*schema.AgenticMessage, error) {
	if c.background != nil {
		c.background.finished()
	}
	if failure := resp.failure(); failure != nil {
		return nil, c.Response().Refusal(failure)
	}
	c.ended = true
	answer := c.reader.last
	if c.events == nil && c.chunks == 0 {
		answer = c.reader.whole
	}
	m, err := answer(resp)
	var stopped *kit.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		return nil, c.Response().Failure("decode the response", err)
	}
	return m, err
}

// join joins the chunks of an answer that the next request is to continue, and notes the hash in the last one.
func (c *responsesChunks) join(m *schema.AgenticMessage) error {
	if !c.reader.call.conf.PreviousResponse {
		return nil
	}
	if c.chunks == 1 && c.ended {
		c.reader.mark(m, m)
		return nil
	}
	if c.reader.joined == nil {
		c.reader.joined = new(schema.AgenticMessageAccumulator)
	}
	if err := c.reader.joined.Add(m); err != nil {
		return err
	}
	if !c.ended {
		return nil
	}
	whole, err := c.reader.joined.Message()
	if err != nil {
		return err
	}
	c.reader.mark(whole, m)
	return nil
}

// Close implements [kit.Chunks]. It ends the work of the server, too, if that works in the background.
func (c *responsesChunks) Close() {
	if c.End() && c.background != nil {
		c.background.cancel()
	}
}

// replace has the chunks read another response. It reports false if they were closed.
func (c *responsesChunks) replace(resp *kit.Response) bool {
	c.Response().Close()
	c.events = nil
	if resp.IsStream() {
		c.events = resp.Events()
	}
	return c.Follow(resp)
}
