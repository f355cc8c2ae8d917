// Package live lets the text of an agent's model through to the caller of Stream while it is not known yet whether the
// model will call tools.
//
// The graph of an agent chooses its next node when an answer has called a tool or has ended. Its result would begin no
// earlier. So the branch behind the model, which reads each answer first, passes text on to the result of the run.
package live

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/weftgo/weft/flow/agent/internal/toolcalls"
	"github.com/weftgo/weft/schema"
)

type message = *schema.Message

// errClosed ends a run whose result is not read any more.
var errClosed = errors.New("the stream of the agent's result was closed")

type key struct{}

// Text lets the text of an agent through: it reads the answers of its model.
type Text struct {
	// check decides instead of the rule of this package, nil if there is none.
	check toolcalls.Checker
}

// New makes what an agent needs once. With a checker of the user's nothing is let through.
func New(check toolcalls.Checker) *Text {
	if check != nil {
		check = toolcalls.Or(check)
	}
	return &Text{check: check}
}

// Stream runs the agent and returns its result, which begins with the first text of the model, or with the result of the
// run if that comes first. An error before that is returned, a later one is an item of the stream. Closing the stream
// ends the run.
func (t *Text) Stream(
	ctx context.Context, run func(context.Context) (*schema.StreamReader[message], error),
) (*schema.StreamReader[message], error) {
	if t.check != nil || ctx.Err() != nil {
		return run(Hide(ctx))
	}
	ctx, end, leave := runContext(ctx)
	r, w := schema.Pipe[message](0)
	w.OnReaderClose(end)
	s := &result{owner: t, w: w, began: make(chan struct{})}
	failed := make(chan error, 1)
	go func() {
		defer w.Close()
		defer leave() // before the reader sees the end
		out, err := run(context.WithValue(ctx, key{}, s))
		switch {
		case err == nil:
			s.finish(ctx, out)
		case s.begun:
			w.Send(nil, err)
		default:
			failed <- err
		}
	}()
	select {
	case <-s.began:
		return r, nil
	case err := <-failed:
		r.Close()
		return nil, err
	}
}

// Hide returns the context for a run whose result is no stream: the result of another run around it gets nothing of it.
func Hide(ctx context.Context) context.Context {
	if ctx.Value(key{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, (*result)(nil))
}

// HasToolCalls reads an answer until its first tool call, wherever in it that is, or to its end, and lets text through to
// the stream of the run.
func (t *Text) HasToolCalls(ctx context.Context, answer *schema.StreamReader[message]) (bool, error) {
	if t.check != nil {
		return t.check(ctx, answer)
	}
	s, _ := ctx.Value(key{}).(*result)
	if s == nil || s.owner != t { // the run of an agent around this one
		return toolcalls.InStream(ctx, answer)
	}
	defer answer.Close()
	return s.letThrough(ctx, answer)
}

// result is the result of a run as its caller reads it. The nodes of an agent run one after the other, and it is finished
// behind them: nothing is used by two goroutines at once.
type result struct {
	owner *Text
	w     *schema.StreamWriter[message]
	// began is closed when Stream returns. begun says that it is.
	began chan struct{}
	begun bool
	// held are the chunks of an answer before its first text, which may be those before a tool call.
	held []message
	// text says that chunks of the last answer were let through.
	text bool
	// answers counts the answers of which something was let through. The first one says what Role and Name are; extra has
	// the answer that each key of Extra came with.
	answers int
	first   schema.Message
	extra   map[string]int
}

// letThrough passes an answer on from its first text until it calls a tool, and reports whether it does.
func (s *result) letThrough(ctx context.Context, answer *schema.StreamReader[message]) (calls bool, err error) {
	s.held, s.text = nil, false
	for {
		chunk, err := answer.RecvContext(ctx)
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case chunk != nil && len(chunk.ToolCalls) > 0:
			return true, s.cutOver(chunk)
		}
		s.held = append(s.held, chunk)
		if !s.text && !hasText(chunk) {
			continue
		}
		if err := s.passHeld(); err != nil {
			return false, err
		}
	}
}

// hasText reports whether a chunk has something for a reader. Thoughts come before calls as often as before answers.
func hasText(chunk message) bool {
	return chunk != nil && (chunk.Content != "" || len(chunk.AssistantGenMultiContent) > 0)
}

func (s *result) passHeld() error {
	if !s.text {
		s.text = true
		s.answers++
	}
	for _, chunk := range s.held {
		if err := s.pass(chunk); err != nil {
			return err
		}
	}
	s.held = s.held[:0]
	return nil
}

// cutOver ends an answer that calls tools: what was let through has the text beside the first call, too.
func (s *result) cutOver(chunk message) error {
	s.held = nil
	if !s.text {
		return nil
	}
	s.text = false
	if !hasText(chunk) {
		return nil
	}
	return s.pass(&schema.Message{Role: chunk.Role, Name: chunk.Name, Content: chunk.Content,
		AssistantGenMultiContent: chunk.AssistantGenMultiContent})
}

// pass gives the reader a chunk. Chunks of a later answer continue the message that the first one began, so that all of
// them can be joined: what would say something else is left out.
func (s *result) pass(chunk message) error {
	if chunk != nil { // a nil chunk is the reader's to refuse
		chunk = s.continued(chunk)
	}
	s.begin()
	if closed := s.w.Send(chunk, nil); closed {
		return errClosed
	}
	return nil
}

func (s *result) begin() {
	if !s.begun {
		s.begun = true
		close(s.began)
	}
}

func (s *result) continued(chunk message) message {
	s.noteExtra(chunk)
	if s.answers == 1 {
		s.first.Role, s.first.Name = cmp.Or(s.first.Role, chunk.Role), cmp.Or(s.first.Name, chunk.Name)
		return chunk
	}
	c := *chunk
	if c.Role != s.first.Role {
		c.Role = ""
	}
	if c.Name != s.first.Name {
		c.Name = ""
	}
	c.Extra = nil
	for k, v := range chunk.Extra {
		if s.extra[k] < s.answers {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]any{}
		}
		c.Extra[k] = v
	}
	return &c
}

func (s *result) noteExtra(chunk message) {
	for k := range chunk.Extra {
		if s.extra == nil {
			s.extra = map[string]int{}
		}
		if _, known := s.extra[k]; !known {
			s.extra[k] = s.answers
		}
	}
}

// finish passes on what the run ended with, unless that is the answer that was let through.
func (s *result) finish(ctx context.Context, out *schema.StreamReader[message]) {
	defer out.Close()
	if s.text {
		return
	}
	s.answers++
	s.begin()
	for {
		chunk, err := out.RecvContext(ctx)
		switch {
		case err == io.EOF:
			return
		case err != nil:
			s.w.Send(nil, err)
			return
		}
		if s.pass(chunk) != nil {
			return
		}
	}
}
