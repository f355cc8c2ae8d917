package agui

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve/internal/said"
)

// translator makes events of the protocol of those of a run. It is fed all of them, in order, and keeps what clients hold
// it to: nothing has content that is not begun, everything that is begun ends before the run does, innermost first, and
// no ID begins twice.
type translator struct {
	threadID, runID, parentRunID string
	conf                         Config
	// legacy: the client is one of before 1.0, which knows neither sub-agents nor cancelled runs.
	legacy bool
	// send gets the events.
	send func(event)

	begun bool
	// agents are the spans of agents, and what is inside of them.
	scopes map[runlog.SpanID]scope
	// answers are the calls of models that are open, and the last one.
	answers map[runlog.SpanID]*answer
	// calls are those that a client knows, by their names in the record, and whose they are.
	calls map[string]scope
	// rested are the sub-agents that ended without an error, by the call of a tool that they worked for, if that is open:
	// its end says whether they are done, or wait.
	rested map[runlog.SpanID][]runlog.SpanID
	// said are the answers of which clients know something, in the order of their beginnings.
	said []*answer
	// subs are the sub-agents that are open, in the order of their beginnings.
	subs   []runlog.SpanID
	steps  []step
	points []runlog.Point
	state  state
	usage  usage
}

// scope is whose work a span is.
type scope struct {
	// sub is the innermost sub-agent, "" outside of all. hidden: the client does not see it.
	sub    string
	hidden bool
}

// answer is a call of a model: the message that is being said, and thought.
type answer struct {
	scope
	id            string
	text, thought messagePhase
	// shown are the IDs of the messages that clients know of it, calls its calls, openCall those that are being written.
	shown        []string
	calls        []string
	openCall     map[string]bool
	seq          uint64
	streamedText bool
}

// messagePhase is how far a message is.
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

type step struct {
	span runlog.SpanID
	name string
	sub  string
}

func newTranslator(threadID, runID string, conf Config, legacy bool, send func(event)) *translator {
	return &translator{threadID: threadID, runID: runID, conf: conf, legacy: legacy, send: send,
		scopes: map[runlog.SpanID]scope{}, answers: map[runlog.SpanID]*answer{}, calls: map[string]scope{},
		rested: map[runlog.SpanID][]runlog.SpanID{}}
}

// begin sends what a stream begins with, once.
func (t *translator) begin() {
	if t.begun {
		return
	}
	t.begun = true
	e := event{Type: "RUN_STARTED", ThreadID: t.threadID, RunID: t.runID, ParentRunID: t.parentRunID}
	if !t.legacy {
		e.ProtocolVersion = "1.0"
	}
	t.send(e)
	t.showState()
}

// add takes the next event of the run. What ends a stretch ends the stream.
func (t *translator) add(e *runlog.Event) {
	switch d := e.Data.(type) {
	case *runlog.AgentStartData:
		t.startAgent(e, d)
	case *runlog.AgentEndData:
		if subs, isTool := t.rested[e.Parent]; isTool && d.Error == nil && slices.Contains(t.subs, e.Span) {
			t.closeScope(t.scopes[e.Span].sub)
			t.rested[e.Parent] = append(subs, e.Span)
		} else {
			t.endAgent(e.Span, d.Error)
		}
	case *runlog.ModelStartData:
		t.usage.Provider, t.usage.Model = d.Provider, d.Model
		t.answers[e.Span] = &answer{scope: t.scopes[e.Parent], id: t.messageID(e.Span), seq: e.Seq, openCall: map[string]bool{}}
	case *runlog.ModelDeltaData:
		t.delta(t.answers[e.Span], d)
	case *runlog.ModelEndData:
		t.endModel(e.Span, d)
	case *runlog.MessageData:
		id := fmt.Sprintf("%s.m%d", t.runID, e.Seq)
		t.message(&answer{scope: t.scopes[e.Span], id: id, seq: e.Seq, openCall: map[string]bool{}}, &d.Message)
	case *runlog.ToolStartData:
		t.startTool(e, d)
	case *runlog.ToolEndData:
		t.endTool(e, d)
	case *runlog.NodeStartData:
		t.startStep(e, d)
	case *runlog.NodeEndData:
		t.endStep(e.Span)
	case *runlog.ProgressData:
		t.progress(e, d)
	case *runlog.CustomData:
		if d.Name == stateChanged {
			t.changeState(d)
			return
		}
		t.out(t.scopes[e.Parent], event{Type: "CUSTOM", Name: d.Name, Value: d.Value})
	case *runlog.RestartedData:
		t.restart(d.FromSeq)
	case *runlog.SnapshotData:
		t.snapshot(e, d)
	case *runlog.InterruptData:
		t.points = d.Points
	case *runlog.RunEndData:
		t.end(d)
	}
}

// out sends an event of a scope, unless the client does not see that.
func (t *translator) out(s scope, e event) {
	if s.hidden {
		return
	}
	if !t.legacy {
		e.SubagentRunID = s.sub
	}
	t.send(e)
}

func (t *translator) messageID(span runlog.SpanID) string { return fmt.Sprintf("%s.%d", t.runID, span) }

// startAgent begins an agent. One that is inside of another is a sub-agent.
func (t *translator) startAgent(e *runlog.Event, d *runlog.AgentStartData) {
	around := t.scopes[e.Parent]
	if d.Call == "" && len(e.Path) <= 1 && e.Parent == 0 {
		t.scopes[e.Span] = around
		return
	}
	if t.legacy {
		t.scopes[e.Span] = scope{hidden: !t.conf.ShowSubagents}
		return
	}
	inside := scope{sub: fmt.Sprintf("%s.a%d", t.runID, e.Span)}
	t.scopes[e.Span] = inside
	t.subs = append(t.subs, e.Span)
	t.send(event{Type: "SUBAGENT_STARTED", SubagentRunID: inside.sub, Name: d.Name, ParentSubagent: around.sub,
		ParentToolCall: d.Call})
}

func (t *translator) endAgent(span runlog.SpanID, err *runlog.Err) {
	at := slices.Index(t.subs, span)
	if at < 0 {
		return
	}
	s := t.scopes[span]
	t.closeScope(s.sub)
	t.subs = slices.Delete(t.subs, at, at+1)
	if err != nil && len(t.points) == 0 && err.Type != "interrupted" {
		t.send(event{Type: "SUBAGENT_ERROR", SubagentRunID: s.sub, Message: err.Message, Code: err.Type})
		return
	}
	t.send(event{Type: "SUBAGENT_FINISHED", SubagentRunID: s.sub, Outcome: t.subOutcome(err)})
}

// subOutcome is what a sub-agent has come to that did not fail.
func (t *translator) subOutcome(err *runlog.Err) *outcome {
	if err == nil {
		return &outcome{Type: "success"}
	}
	return &outcome{Type: "suspended"}
}

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
		t.stopSaying(a)
		t.stopThinking(a)
		t.beginCall(a, d.Call, d.Name)
		if d.Text != "" && a.openCall[d.Call] {
			t.out(a.scope, event{Type: "TOOL_CALL_ARGS", ToolCallID: d.Call, Delta: d.Text})
		}
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

// thoughtID is that of what a model thinks: a message of its own.
func (a *answer) thoughtID() string { return a.id + ".r" }

func (t *translator) think(a *answer, text string) {
	if text == "" || t.conf.HideReasoning {
		return
	}
	t.stopSaying(a)
	if a.thought == hasSaid {
		return // a model that thinks again is not shown: an ID begins once
	}
	if a.thought == unsaid {
		a.thought = saying
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
	}
	a.shown = nil
}

// whole shows what of a message did not come in pieces. calls are the names of its calls in the record.
func (t *translator) whole(a *answer, m *runlog.Message, calls []string) {
	content := said.In(m)
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

// startTool begins a tool. A call that no message has is shown first.
func (t *translator) startTool(e *runlog.Event, d *runlog.ToolStartData) {
	s := t.scopes[e.Parent]
	t.scopes[e.Span] = s
	t.rested[e.Span] = nil
	if _, known := t.calls[d.Call]; known {
		t.calls[d.Call] = s
		return
	}
	a := &answer{scope: s, id: fmt.Sprintf("%s.c%d", t.runID, e.Span), openCall: map[string]bool{}}
	t.beginCall(a, d.Call, d.Name)
	if d.Args != "" {
		t.out(s, event{Type: "TOOL_CALL_ARGS", ToolCallID: d.Call, Delta: d.Args})
	}
	t.endCalls(a)
}

// endTool shows the result of a call. A call that was interrupted has none yet.
func (t *translator) endTool(e *runlog.Event, d *runlog.ToolEndData) {
	waits := d.Error
	if d.Error != nil && d.Error.Type != "interrupted" {
		waits = nil
	}
	for _, span := range t.rested[e.Span] {
		t.endAgent(span, waits)
	}
	delete(t.rested, e.Span)
	if d.Error != nil && (d.Error.Type == "interrupted" || d.Error.Type == "abandoned") {
		return
	}
	text := ""
	var media []any
	for _, p := range d.Parts {
		text += p.Text
		if m := mediaOf(p); m != nil {
			media = append(media, m)
		}
	}
	if d.Error != nil {
		text = d.Error.Message
	}
	var content any = text
	if media != nil {
		content = append([]any{map[string]any{"type": "text", "text": text}}, media...)
	}
	t.out(t.scopes[e.Span], event{Type: "TOOL_CALL_RESULT", MessageID: t.messageID(e.Span), ToolCallID: d.Call, Content: content,
		Role: "tool"})
}

func (t *translator) startStep(e *runlog.Event, d *runlog.NodeStartData) {
	if !t.conf.Steps {
		return
	}
	name := d.Node
	for n := 2; slices.ContainsFunc(t.steps, func(s step) bool { return s.name == name }); n++ {
		name = fmt.Sprintf("%s (%d)", d.Node, n)
	}
	s := t.scopes[e.Parent]
	t.steps = append(t.steps, step{e.Span, name, s.sub})
	t.out(s, event{Type: "STEP_STARTED", StepName: name})
}

func (t *translator) endStep(span runlog.SpanID) {
	at := slices.IndexFunc(t.steps, func(s step) bool { return s.span == span })
	if at < 0 {
		return
	}
	s := t.steps[at]
	t.steps = slices.Delete(t.steps, at, at+1)
	t.out(scope{sub: s.sub}, event{Type: "STEP_FINISHED", StepName: s.name})
}

func (t *translator) progress(e *runlog.Event, d *runlog.ProgressData) {
	t.out(t.scopes[e.Parent], event{Type: "ACTIVITY_SNAPSHOT", MessageID: fmt.Sprintf("%s.p.%s", t.runID, d.Call),
		ActivityType: "PROGRESS", Content: d, Replace: true})
}

// restart retracts what another process says again.
func (t *translator) restart(from uint64) {
	t.closeAll()
	t.said = slices.DeleteFunc(t.said, func(a *answer) bool {
		if a.seq <= from {
			return false
		}
		t.retract(a, scope{}) // its agent has ended
		return true
	})
}

// snapshot shows all messages of the run in place of what was shown, where events are missing.
func (t *translator) snapshot(e *runlog.Event, d *runlog.SnapshotData) {
	t.restart(0)
	t.points, t.state = d.Points, state{} // which is not among what is kept
	for i := range d.Messages {
		m, id := &d.Messages[i], fmt.Sprintf("%s.s%d.%d", t.runID, e.Seq, i)
		if m.Chat != nil && m.Chat.Role == schema.Tool {
			t.out(scope{}, event{Type: "TOOL_CALL_RESULT", MessageID: id, ToolCallID: m.Chat.ToolCallID,
				Content: m.Chat.Content, Role: "tool"})
			continue
		}
		t.message(&answer{id: id, seq: e.Seq, openCall: map[string]bool{}}, m)
	}
}

// closeScope ends what is open in an agent, "" for the outermost ones.
func (t *translator) closeScope(sub string) {
	for _, s := range slices.Backward(slices.Clone(t.steps)) {
		if s.sub == sub {
			t.endStep(s.span)
		}
	}
	for _, span := range slices.Backward(slices.Sorted(maps.Keys(t.answers))) {
		if a := t.answers[span]; a.sub == sub {
			t.close(a)
			delete(t.answers, span)
		}
	}
}

// closeAll ends everything that is open, innermost first.
func (t *translator) closeAll() {
	for _, span := range slices.Backward(slices.Clone(t.subs)) {
		t.endAgent(span, &runlog.Err{Type: "interrupted"})
	}
	t.closeScope("")
}
