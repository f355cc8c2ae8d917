package weft

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// turn reads one run: it passes on what happens as events, and keeps what becomes the answer. It is used by one goroutine,
// and is the context of the run.
type turn struct {
	context.Context
	agent *Agent
	// answer is the answer of the run so far.
	answer Answer
	// last is the last message, of any agent or tool.
	last *Message
	// call are the options of the question.
	call callOptions
	// yield passes an event on, and reports whether the caller still reads.
	yield func(Event, error) bool
	phase turnPhase
	// inPieces: the message that comes next was passed on in pieces.
	inPieces bool
	// keeps: what was shown of an answer that breaks off is kept, in shown, until the message is whole; speaker shows it.
	keeps   bool
	shown   strings.Builder
	speaker string

	// room keeps a question and short answers.
	room struct {
		question oneQuestion
		said     [4]adk.HistoryEntry
		messages [5]*Message
	}
}

// oneQuestion is room for a question that is one message.
type oneQuestion struct {
	message Message
	list    [1]*Message
}

// turnPhase tracks how far a turn has been read.
//
//	from    to        when
//	reads   answered  the run has ended with an answer
//	reads   failed    the reader has been given the error of the run
//	reads   left      the reader has left its loop
//	answered  left    as before
type turnPhase int

const (
	turnReads turnPhase = iota
	turnAnswered
	turnFailed
	turnLeft
)

type turnKey struct{}

// Value implements context.Context.
func (t *turn) Value(key any) any {
	if key == (turnKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// turnIn finds the turn that a run belongs to.
func turnIn(ctx context.Context) *turn { return ctx.Value(turnKey{}).(*turn) }

// read reads a run to its end. It reports whether there is an answer: otherwise the reader has gone, or has had the error.
func (t *turn) read(events *adk.AsyncIterator[*adk.AgentEvent]) (answered bool) {
	events.All()(t.next)
	t.answer.Messages = append(t.room.messages[:0], t.answer.asked...)
	for _, e := range t.answer.said {
		t.answer.Messages = append(t.answer.Messages, e.Message)
	}
	if t.phase == turnReads {
		t.phase = turnAnswered
		if t.last != nil && len(t.answer.Pending) == 0 {
			t.answer.Text = t.last.Content
		}
	}
	return t.phase == turnAnswered
}

// next is the body of the loop that reads a run: a method, because one that is written as a loop costs more memory. It
// reports whether the run is to be read on.
func (t *turn) next(e *adk.AgentEvent) bool {
	if e.Err != nil {
		t.failed(e)
	} else if err := t.take(e); err != nil {
		t.fail(err)
	}
	return t.phase == turnReads
}

// fail gives the reader an error, which is the end of the turn.
func (t *turn) fail(err error) {
	t.phase = turnFailed
	t.yield(Event{}, oneLine(err))
}

// failed passes the error of a run on. The error of a run which has used up its turns may be an answer.
func (t *turn) failed(e *adk.AgentEvent) {
	sentence := t.agent.config.LimitAnswer
	if sentence == "" || !errors.Is(e.Err, adk.ErrExceedMaxIterations) {
		t.fail(e.Err)
		return
	}
	t.phase = turnAnswered
	t.add(e.AgentName, schema.AssistantMessage(sentence, nil))
	t.answer.Text = sentence
	t.emit(Event{Agent: e.AgentName, Text: sentence, Source: e})
}

// take passes on what an event of the run says.
func (t *turn) take(e *adk.AgentEvent) error {
	switch {
	case e.IsInner():
		return nil
	case e.IsPiece():
		t.inPieces = t.piece(e, e.Output.MessageOutput.Message) || t.inPieces
		return nil
	}
	handover := ""
	if a := e.Action; a != nil {
		t.answer.Pending = append(t.answer.Pending, adk.Questions(a.Interrupted)...)
		if a.TransferToAgent != nil {
			handover = a.TransferToAgent.DestAgentName
		}
	}
	if e.Output != nil && e.Output.MessageOutput != nil {
		if err := t.message(e, e.Output.MessageOutput, handover != ""); err != nil {
			return err
		}
	}
	if handover != "" {
		t.answer.agent = handover
		t.emit(Event{Agent: e.AgentName, Handover: handover, Source: e})
	}
	return nil
}

// message passes a message on. One of a stream that breaks off does not count: if that was the end of the run, the next
// event says so.
func (t *turn) message(e *adk.AgentEvent, output *adk.MessageVariant, transfer bool) error {
	whole := output.Message
	if output.IsStreaming && output.MessageStream != nil {
		var err error
		if whole, err = t.stream(e, output.MessageStream); err != nil || whole == nil {
			return err
		}
	} else if whole != nil && whole.Role == schema.Assistant {
		if !t.inPieces {
			t.piece(e, whole)
		}
		t.inPieces = false
	}
	if whole == nil {
		return nil
	}
	t.shown.Reset()
	t.add(e.AgentName, whole)
	if t.phase == turnLeft {
		return nil
	}
	if whole.Role == schema.Tool {
		if !transfer {
			t.emit(Event{Agent: e.AgentName, Result: shownResult(whole), Source: e})
		}
		return nil
	}
	for i := range whole.ToolCalls {
		if call := &whole.ToolCalls[i]; call.Function.Name != adk.TransferToAgentToolName {
			t.emit(Event{Agent: e.AgentName, Call: call, Source: e})
		}
	}
	return nil
}

// shownResult is a result as an [Event] has it: the texts of one in parts are its Content, and the parts stay.
func shownResult(whole *Message) *Message {
	if whole.Content != "" || len(whole.UserInputMultiContent) == 0 {
		return whole
	}
	var texts []string
	for _, part := range whole.UserInputMultiContent {
		if part.Type == schema.ChatMessagePartTypeText && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	shown := *whole
	shown.Content = strings.Join(texts, "\n")
	return &shown
}

// stream passes the pieces of a message on, and returns the whole, or nil if it does not count.
func (t *turn) stream(e *adk.AgentEvent, pieces *schema.StreamReader[*Message]) (*Message, error) {
	defer pieces.Close()
	var whole schema.MessageAccumulator
	emitted := false
	for t.phase != turnLeft {
		piece, err := pieces.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return whole.Message()
		case err != nil:
			if emitted && errors.As(err, new(*adk.WillRetryError)) {
				t.shown.Reset()
				t.emit(Event{Agent: e.AgentName, Again: true, Source: e})
			}
			return nil, nil
		}
		if err := whole.Add(piece); err != nil {
			return nil, err
		}
		if piece.Role != schema.Tool {
			emitted = t.piece(e, piece) || emitted
		}
	}
	return nil, nil
}

// piece passes on what a piece of a model's message has for the reader.
func (t *turn) piece(e *adk.AgentEvent, piece *Message) (emitted bool) {
	if piece.ReasoningContent != "" {
		t.emit(Event{Agent: e.AgentName, Reasoning: piece.ReasoningContent, Source: e})
		emitted = true
	}
	if piece.Content != "" {
		if t.keeps {
			t.speaker = e.AgentName
			t.shown.WriteString(piece.Content)
		}
		t.emit(Event{Agent: e.AgentName, Text: piece.Content, Source: e})
		emitted = true
	}
	return emitted
}

func (t *turn) emit(e Event) {
	if t.phase != turnLeft && !t.yield(e, nil) {
		t.phase = turnLeft
	}
}

// add keeps a message as part of the answer.
func (t *turn) add(agent string, m *Message) {
	t.last = m
	t.answer.said = adk.AppendHistory(t.answer.said, adk.HistoryEntry{AgentName: agent, Message: m})
	if m.ResponseMeta != nil {
		t.answer.Usage.Add(m.ResponseMeta.Usage)
	}
}

// whole reads a run for its answer alone.
func whole(events func(yield func(Event, error) bool)) (*Answer, error) {
	var answer *Answer
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Answer != nil {
			answer = e.Answer
		}
	}
	return answer, nil
}

// run reads a run of an agent that keeps nothing, and emits its answer. If it is interrupted, the answer has what it
// continues from.
func (t *turn) run(opts []Option, start func(opts []Option) (*adk.AsyncIterator[*adk.AgentEvent], error)) {
	needed := mostRuns
	if len(opts)+len(t.answer.earlier)+len(t.answer.entry) > 0 {
		needed = t.options(opts, inAnswer)
	}
	events, err := start(needed)
	if err != nil {
		t.yield(Event{}, oneLine(err))
		return
	}
	if !t.read(events) {
		return
	}
	if len(t.answer.Pending) > 0 {
		t.answer.of = t.agent
	}
	t.emit(Event{Answer: &t.answer})
}
