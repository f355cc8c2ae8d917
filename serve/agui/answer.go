package agui

import (
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve/internal/said"
)

// answer is a call of a model: the message that is being said, and thought.
type answer struct {
	scope
	id            string
	text, thought messagePhase
	// shown are the IDs of the messages that clients know of it, calls its calls, openCall those that are being written.
	shown    []string
	calls    []string
	openCall map[string]bool
	// thoughts counts the messages of its thoughts.
	thoughts     int
	seq          uint64
	streamedText bool
}

// messagePhase tracks how far a message is.
//
//	from      to       when
//	unsaid    saying   its first piece comes
//	saying    said     another kind of piece comes, or the call of the model ends
//	said      saying   a piece comes again, under another ID
type messagePhase int

const (
	unsaid messagePhase = iota
	saying
	hasSaid
)

// delta is a piece of what a model says, thinks or calls.
func (t *translator) delta(a *answer, d *runlog.ModelDeltaData) {
	if a == nil {
		return
	}
	switch d.Kind {
	case runlog.Text:
		t.say(a, d.Text)
	case runlog.Reasoning:
		t.think(a, d.Text)
	case runlog.Args:
		t.argument(a, d)
	}
}

// argument is a piece of a call. A call begins when its name is known.
func (t *translator) argument(a *answer, d *runlog.ModelDeltaData) {
	t.stopSaying(a)
	t.stopThinking(a)
	text := d.Text
	if _, known := t.calls[d.Call]; !known {
		args, named := t.unnamed.Add(d.Call, d.Name, text)
		if !named {
			return
		}
		text = args
		t.beginCall(a, d.Call, d.Name)
	}
	if text != "" && a.openCall[d.Call] {
		t.out(a.scope, event{Type: "TOOL_CALL_ARGS", ToolCallID: d.Call, Delta: text})
	}
}

func (t *translator) say(a *answer, text string) {
	if text == "" {
		return
	}
	t.stopThinking(a)
	if a.text != saying {
		if a.text == hasSaid {
			a.id += "+"
		}
		a.text = saying
		t.show(a, a.id)
		t.out(a.scope, event{Type: "TEXT_MESSAGE_START", MessageID: a.id, Role: "assistant"})
	}
	a.streamedText = true
	t.out(a.scope, event{Type: "TEXT_MESSAGE_CONTENT", MessageID: a.id, Delta: text})
}

// show notes a message that clients know.
func (t *translator) show(a *answer, id string) {
	if a.hidden {
		return
	}
	if len(a.shown) == 0 {
		t.said = append(t.said, a)
	}
	if !slices.Contains(a.shown, id) {
		a.shown = append(a.shown, id)
	}
}

func (t *translator) stopSaying(a *answer) {
	if a.text == saying {
		a.text = hasSaid
		t.out(a.scope, event{Type: "TEXT_MESSAGE_END", MessageID: a.id})
	}
}

// thoughtID returns the ID of a model's thoughts: each time they are a message of their own.
func (a *answer) thoughtID() string {
	if a.thoughts > 1 {
		return fmt.Sprintf("%s.r%d", a.id, a.thoughts)
	}
	return a.id + ".r"
}

func (t *translator) think(a *answer, text string) {
	if text == "" || t.conf.HideReasoning {
		return
	}
	t.stopSaying(a)
	if a.thought != saying {
		a.thought = saying
		a.thoughts++
		t.show(a, a.thoughtID())
		t.out(a.scope, event{Type: "REASONING_START", MessageID: a.thoughtID()})
		t.out(a.scope, event{Type: "REASONING_MESSAGE_START", MessageID: a.thoughtID(), Role: "reasoning"})
	}
	t.out(a.scope, event{Type: "REASONING_MESSAGE_CONTENT", MessageID: a.thoughtID(), Delta: text})
}

func (t *translator) stopThinking(a *answer) {
	if a.thought == saying {
		a.thought = hasSaid
		t.out(a.scope, event{Type: "REASONING_MESSAGE_END", MessageID: a.thoughtID()})
		t.out(a.scope, event{Type: "REASONING_END", MessageID: a.thoughtID()})
	}
}

// beginCall begins a call, once.
func (t *translator) beginCall(a *answer, call, name string) {
	if _, known := t.calls[call]; known {
		return
	}
	t.calls[call] = a.scope
	t.show(a, a.id)
	a.calls = append(a.calls, call)
	a.openCall[call] = true
	t.out(a.scope, event{Type: "TOOL_CALL_START", ToolCallID: call, ToolCallName: name, ParentMessageID: a.id})
}

func (t *translator) endCalls(a *answer) {
	for _, call := range a.calls {
		if a.openCall[call] {
			a.openCall[call] = false
			t.out(a.scope, event{Type: "TOOL_CALL_END", ToolCallID: call})
		}
	}
}

// endModel ends what a model has begun, and shows what it did not stream.
func (t *translator) endModel(span runlog.SpanID, d *runlog.ModelEndData) {
	a := t.answers[span]
	if a == nil {
		return
	}
	delete(t.answers, span)
	if d.Error == nil && !d.Again && !d.Aside {
		t.whole(a, d.Message, d.Calls)
	}
	t.close(a)
	if d.Again {
		t.retract(a, a.scope)
		t.showPage()
	}
}

// close ends what an answer has begun.
func (t *translator) close(a *answer) {
	t.stopThinking(a)
	t.stopSaying(a)
	t.endCalls(a)
}

// retract says that the messages of an answer do not count. What it called never happens under that name.
func (t *translator) retract(a *answer, in scope) {
	for _, id := range a.shown {
		t.out(in, event{Type: "CUSTOM", Name: "weft.retracted", Value: map[string]string{"messageId": id}})
		if t.page != nil {
			t.page.drop(id)
		}
	}
	a.shown = nil
}

// whole shows what of a message did not come in pieces. calls are the names of its calls in the record.
func (t *translator) whole(a *answer, m *runlog.Message, calls []string) {
	content := said.In(m)
	if a.scope == (scope{}) && content.Text != "" {
		t.final = content.Text
	}
	if a.thought == unsaid {
		t.think(a, content.Thought)
	}
	if !a.streamedText {
		t.say(a, content.Text)
	}
	for i, c := range content.Calls {
		call := c.ID
		if i < len(calls) {
			call = calls[i]
		}
		if _, known := t.calls[call]; known {
			continue
		}
		t.stopSaying(a)
		t.stopThinking(a)
		t.beginCall(a, call, c.Function.Name)
		if c.Function.Arguments != "" {
			t.out(a.scope, event{Type: "TOOL_CALL_ARGS", ToolCallID: call, Delta: c.Function.Arguments})
		}
	}
}

// message shows a message of an agent that came at once.
func (t *translator) message(a *answer, m *runlog.Message) {
	if said.ByModel(m) {
		t.whole(a, m, nil)
		t.close(a)
	}
}
