package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

const (
	// streamBuffer is how many chunks are read ahead of a slow consumer.
	streamBuffer = 16
	// drainTime is how long a server may take to end a response after it has said that it is done. A connection whose
	// response has ended can be used again.
	drainTime = 50 * time.Millisecond
)

// A streamer reads the messages, or the chunks of one, out of a response.
type streamer struct {
	from             *response
	source           source
	assembler        assembler
	quota            quota
	config           *model.Config
	allowMissingDone bool
}

// open sends a request and returns the streamer of its response, to be closed.
func (m *ChatModel) open(ctx context.Context, c *call, in []*schema.Message) (*streamer, error) {
	body, err := c.body(in)
	if err != nil {
		return nil, err
	}
	resp, err := m.post(ctx, body, c.conf.extraHeaders)
	if err != nil {
		return nil, err
	}
	s := &streamer{
		from:             resp,
		assembler:        assembler{requestID: requestID(resp.header)},
		config:           c.callbackConfig(),
		allowMissingDone: c.conf.AllowMissingDone,
	}
	if isStream(resp.header.Get("Content-Type"), c.stream) {
		resp.limitSilence(c.conf.streamIdleTimeout())
		s.source = newEvents(resp, maxDocument)
	} else {
		s.source, s.assembler.whole = &document{r: resp, limit: maxDocument}, true
	}
	return s, nil
}

// isStream reports whether a response is a stream. Some servers stream unasked, some do not when asked; a page in HTML
// comes from something in between.
func isStream(contentType string, asked bool) bool {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	switch {
	case mediaType == "text/event-stream":
		return true
	case mediaType == "text/html", strings.HasSuffix(mediaType, "json"):
		return false
	}
	return asked
}

// next returns the next message, io.EOF behind the last one, or an error, after which it must not be called.
func (s *streamer) next() (*schema.Message, error) {
	for {
		data, err := s.source.next()
		if err != nil {
			return nil, s.end(err)
		}
		m, err := s.message(data)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// end says whether a stream that has ended for the given reason is complete: io.EOF, or what is wrong with it.
func (s *streamer) end(reason error) error {
	switch {
	case reason == errDone && s.assembler.answered, reason == io.EOF && s.assembler.finished && s.allowMissingDone:
		return io.EOF
	case reason == errDone:
		return errors.New("openai: the response has no answer in it")
	case reason == io.EOF:
		reason = fmt.Errorf("the stream was cut off: it ended without [DONE]: %w", io.ErrUnexpectedEOF)
	}
	return s.from.failure("read the response", reason)
}

// message returns what a document of the response says, or nil if that is nothing.
func (s *streamer) message(data []byte) (*schema.Message, error) {
	if err := s.quota.document(data); err != nil {
		return nil, s.from.failure("read the response", err)
	}
	var c completion
	if err := decode(data, &c); err != nil {
		return nil, s.from.failure("decode the response", fmt.Errorf("%w in %q", err, s.from.hide.excerpt(data)))
	}
	if e := c.failure(data, s.assembler.whole); e != nil {
		e.RequestID = s.assembler.requestID
		return nil, e.redact(s.from.hide)
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
		return nil, s.from.failure("read the response", err)
	}
	return m, nil
}

// whole returns the response as one message.
func (s *streamer) whole() (*schema.Message, error) {
	var joined schema.MessageAccumulator
	for {
		m, err := s.next()
		if err == io.EOF {
			return joined.Message()
		}
		if err == nil {
			err = joined.Add(m)
		}
		if err != nil {
			return nil, err
		}
	}
}

// start reads the stream in a goroutine. It lives until the stream has ended or the reader is closed; at most
// streamBuffer chunks are waiting for the reader.
func (s *streamer) start(stop context.CancelFunc) *schema.StreamReader[*model.CallbackOutput] {
	sr, sw := schema.Pipe[*model.CallbackOutput](streamBuffer)
	sw.OnReaderClose(stop) // also while the server is silent
	go s.run(sw, stop)
	sr.SetAutomaticClose()
	return sr
}

func (s *streamer) run(w *schema.StreamWriter[*model.CallbackOutput], stop context.CancelFunc) {
	defer stop()
	defer s.from.close()
	err := s.send(w)
	w.OnReaderClose(nil) // from here on a close is the normal end, after which the connection is to be used again
	if err != nil {
		w.Send(nil, err)
	}
	w.Close()
	if err == nil {
		s.drain()
	}
}

// send sends the chunks until their end or until nobody reads them.
func (s *streamer) send(w *schema.StreamWriter[*model.CallbackOutput]) (err error) {
	defer s.from.hide.recoverTo(&err)
	for {
		m, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if w.Send(s.output(m), nil) {
			return context.Canceled
		}
	}
}

// drain waits a moment for the end of the response. Nobody is left to notify of a panic.
func (s *streamer) drain() {
	defer func() { _ = recover() }()
	late := time.AfterFunc(drainTime, s.from.close)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, s.from, 4<<10)
}

// output is a message as callback handlers get it.
func (s *streamer) output(m *schema.Message) *model.CallbackOutput {
	out := &model.CallbackOutput{Message: m, Config: s.config}
	if m.ResponseMeta != nil && m.ResponseMeta.Usage != nil {
		u := m.ResponseMeta.Usage
		out.TokenUsage = &model.TokenUsage{
			PromptTokens:            u.PromptTokens,
			PromptTokenDetails:      model.PromptTokenDetails{CachedTokens: u.PromptTokenDetails.CachedTokens},
			CompletionTokens:        u.CompletionTokens,
			TotalTokens:             u.TotalTokens,
			CompletionTokensDetails: model.CompletionTokensDetails{ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens},
		}
	}
	return out
}
