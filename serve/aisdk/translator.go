package aisdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve/internal/said"
)

// chunk is a piece of a UI message stream.
type chunk map[string]any

// translator makes chunks of the events of a run. It is fed all of them, in order. What it begins it ends: parts before
// their step, steps before the message.
type translator struct {
	messageID string
	conf      Config
	send      func(chunk)

	phase phase
	// inside are the spans of calls, and of what works for them: other agents do not write to the message.
	inside map[runlog.SpanID]bool
	agents map[runlog.SpanID]string
	// answers are the calls of models that are open: agents that work at the same time share a step.
	answers map[runlog.SpanID]*answer
	// said are the answers that clients know something of, in the order of their beginnings.
	said []*answer
	// steps counts the steps, writers what writes to the last one. blank: it was reset, and is written again.
	steps, writers int
	blank          bool
	// parts and sources count the parts and sources of the message.
	parts, sources int
	// calls are the calls of the message, unnamed those that clients are told of when their names are known.
	calls   map[string]*call
	unnamed said.Unnamed
	points  []runs.Question
	// denied are the calls that a person has rejected, failed those that the page could not carry out.
	denied map[string]bool
	failed map[string]bool
	finish said.Finish
	run    string
}

// phase tracks how far the message is.
//
//	from       to        when
//	notBegun   between   anything happens
//	between    inStep    a model is called
//	inStep     between   one is called after all before have answered, or the run ends or waits
//	between    ended     the run ends or waits
//	ended      between   the run continues
type phase int

const (
	notBegun phase = iota
	between
	inStep
	ended
)

// answer is a call of a model, and what is shown of it.
type answer struct {
	seq  uint64
	step int
	// open is the part that is being written, with an empty kind if none is.
	open part
	// parts are the IDs of all of its parts, calls its calls, in their order.
	parts, calls []string
	// streamed are the kinds of parts that came in pieces.
	streamed map[string]bool
}

// part is a part of text or reasoning.
type part struct{ kind, id string }

func newTranslator(run, messageID string, conf Config, send func(chunk)) *translator {
	return &translator{run: run, messageID: messageID, conf: conf, send: send, inside: map[runlog.SpanID]bool{},
		agents: map[runlog.SpanID]string{}, answers: map[runlog.SpanID]*answer{}, calls: map[string]*call{}, denied: map[string]bool{},
		failed: map[string]bool{}}
}

// begin begins the message, or continues it behind what was its end for an earlier request.
func (t *translator) begin() {
	if t.phase == notBegun || t.phase == ended {
		t.phase = between
		t.send(chunk{"type": "start", "messageId": t.messageID,
			"messageMetadata": chunk{"weft": chunk{"run": t.run}}})
	}
}

// add takes the next event of the run.
func (t *translator) add(e *runlog.Event) {
	if t.inside[e.Parent] && e.Span != 0 {
		t.inside[e.Span] = true
	}
	t.begin()
	switch d := e.Data.(type) {
	case *runlog.AgentStartData:
		t.startAgent(e, d)
	case *runlog.AgentEndData:
		t.endAgent(e, d)
	case *runlog.ModelStartData:
		if !t.inside[e.Span] {
			t.answers[e.Span] = t.startAnswer(e.Seq)
		}
	case *runlog.ModelDeltaData:
		if a := t.answers[e.Span]; a != nil {
			t.delta(a, d)
		}
	case *runlog.ModelEndData:
		if a := t.answers[e.Span]; a != nil {
			delete(t.answers, e.Span)
			t.endModel(a, d)
		}
	case *runlog.MessageData:
		t.message(e, d)
	case *runlog.ToolStartData:
		t.startTool(e, d)
	case *runlog.ToolDeltaData:
		t.toolDelta(d)
	case *runlog.ToolEndData:
		t.result(d)
	case *runlog.ProgressData:
		t.send(chunk{"type": "data-weft-progress", "id": t.run + ".p." + d.Call, "data": d, "transient": true})
	case *runlog.CustomData:
		t.send(chunk{"type": "data-weft-custom", "id": fmt.Sprintf("%s.c%d", t.run, e.Seq), "data": d, "transient": true})
	case *runlog.WaitingData:
		t.points = d.Questions
	case *runlog.RepliesData:
		t.answered(d)
	case *runlog.RestartedData:
		t.restart(d.FromSeq)
	case *runlog.SnapshotData:
		t.snapshot(e.Seq, d)
	case *runlog.RunEndData:
		t.end(d)
	}
}

// startAnswer begins what a model says: in the step of others that have not answered yet, or in one that was reset, else in
// a step of its own.
func (t *translator) startAnswer(seq uint64) *answer {
	if t.phase != inStep || len(t.answers) == 0 && !t.blank {
		t.endStep()
		t.phase, t.writers = inStep, 0
		t.steps++
		t.send(chunk{"type": "start-step"})
	}
	t.blank = false
	t.writers++
	a := &answer{seq: seq, step: t.steps, streamed: map[string]bool{}}
	t.said = append(t.said, a)
	return a
}

// endStep ends the step, and what is open in it.
func (t *translator) endStep() {
	for _, span := range slices.Backward(slices.Sorted(maps.Keys(t.answers))) {
		t.endAnswer(t.answers[span])
	}
	clear(t.answers)
	t.blank = false
	if t.phase == inStep {
		t.phase = between
		t.send(chunk{"type": "finish-step"})
	}
}

// endAnswer ends what of an answer is open.
func (t *translator) endAnswer(a *answer) {
	t.endPart(a)
	for _, id := range a.calls {
		t.ask(id)
	}
}

func (t *translator) endPart(a *answer) {
	if a.open.kind != "" {
		t.send(chunk{"type": a.open.kind + "-end", "id": a.open.id})
		a.open = part{}
	}
}

// write writes a piece of a part, and begins it if another one is open.
func (t *translator) write(a *answer, kind, text string) {
	if text == "" || kind == "reasoning" && t.conf.HideReasoning {
		return
	}
	if a.open.kind != kind {
		t.endPart(a)
		t.parts++
		a.open = part{kind, fmt.Sprintf("%s.%d", t.run, t.parts)}
		a.parts = append(a.parts, a.open.id)
		// Pages see no IDs of parts, but what a provider says about them.
		t.send(chunk{"type": kind + "-start", "id": a.open.id, "providerMetadata": chunk{"weft": chunk{"id": a.open.id}}})
	}
	a.streamed[kind] = true
	t.send(chunk{"type": kind + "-delta", "id": a.open.id, "delta": text})
}

func (t *translator) delta(a *answer, d *runlog.ModelDeltaData) {
	switch d.Kind {
	case runlog.Text:
		t.write(a, "text", d.Text)
	case runlog.Reasoning:
		t.write(a, "reasoning", d.Text)
	case runlog.Args:
		t.argument(a, d)
	}
}

// argument writes a piece of a call. A call begins when its name is known.
func (t *translator) argument(a *answer, d *runlog.ModelDeltaData) {
	c, text := t.calls[d.Call], d.Text
	if c == nil {
		args, named := t.unnamed.Add(d.Call, d.Name, text)
		if !named {
			return
		}
		text = args
		t.endPart(a)
		c = &call{name: d.Name}
		t.calls[d.Call] = c
		a.calls = append(a.calls, d.Call)
		t.send(t.tool(d.Call, chunk{"type": "tool-input-start", "toolName": d.Name}))
	}
	if text != "" && c.phase == writing {
		c.args += text
		t.send(chunk{"type": "tool-input-delta", "toolCallId": d.Call, "inputTextDelta": text})
	}
}

func (t *translator) endModel(a *answer, d *runlog.ModelEndData) {
	t.finish = said.FinishOf(d.Finish)
	if d.Again {
		t.retract(a)
		return
	}
	if d.Error == nil && !d.Aside {
		t.whole(a, d.Message, d.Calls)
	}
	t.endAnswer(a)
}

// retract says that an answer does not count: by the means of version 7 if the last step has nothing else, or else by data
// that name its parts, and errors of its calls.
func (t *translator) retract(a *answer) {
	t.said = slices.DeleteFunc(t.said, func(other *answer) bool { return other == a })
	t.endPart(a)
	if len(a.parts) == 0 && len(a.calls) == 0 {
		return
	}
	if t.conf.Version == 7 && t.phase == inStep && a.step == t.steps && t.writers == 1 {
		for _, id := range a.calls {
			delete(t.calls, id)
		}
		t.blank = true
		t.send(chunk{"type": "reset-step"})
		return
	}
	for _, id := range a.parts {
		t.send(chunk{"type": "data-weft-retracted", "data": chunk{"id": id}})
	}
	for _, id := range a.calls {
		t.abandon(id)
	}
}

// restart retracts what another process says again.
func (t *translator) restart(from uint64) {
	for _, a := range t.answers {
		t.endPart(a)
	}
	clear(t.answers)
	for _, span := range slices.Sorted(maps.Keys(t.agents)) {
		t.showAgent(span, t.agents[span], "", "stopped")
	}
	clear(t.agents)
	for _, a := range slices.Backward(slices.Clone(t.said)) {
		if a.seq > from {
			t.retract(a)
		}
	}
}

// whole writes what of a message did not come in pieces. calls are the names of its calls in the record.
func (t *translator) whole(a *answer, m *runlog.Message, calls []string) {
	content := said.In(m)
	if !a.streamed["reasoning"] {
		t.write(a, "reasoning", content.Thought)
	}
	if !a.streamed["text"] {
		t.write(a, "text", content.Text)
	}
	for _, m := range content.Media {
		t.endPart(a)
		t.send(file(m))
	}
	for _, s := range said.Sources(m) {
		t.endPart(a)
		t.sources++
		c := chunk{"type": "source-url", "sourceId": fmt.Sprintf("%s.u%d", t.run, t.sources), "url": s.URL}
		if s.Title != "" {
			c["title"] = s.Title
		}
		t.send(c)
	}
	for i, asked := range content.Calls {
		id := asked.ID
		if i < len(calls) {
			id = calls[i]
		}
		if t.calls[id] != nil {
			continue
		}
		t.endPart(a)
		t.calls[id] = &call{name: asked.Function.Name, args: asked.Function.Arguments}
		a.calls = append(a.calls, id)
	}
}

// message writes a message that no recorded call has made.
func (t *translator) message(e *runlog.Event, d *runlog.MessageData) {
	if !t.inside[e.Span] && !t.inside[e.Parent] {
		t.say(e.Seq, &d.Message, nil)
	}
}

// say writes a message that came at once.
func (t *translator) say(seq uint64, m *runlog.Message, calls []string) {
	if said.ByModel(m) {
		a := t.startAnswer(seq)
		t.whole(a, m, calls)
		t.endAnswer(a)
	}
}

// startAgent shows an agent that works for a call.
func (t *translator) startAgent(e *runlog.Event, d *runlog.AgentStartData) {
	if d.Call != "" {
		t.inside[e.Span] = true
	}
	if d.Call != "" || len(e.Path) > 1 {
		t.agents[e.Span] = d.Name
		t.showAgent(e.Span, d.Name, d.Call, "running")
	}
}

// showAgent says how an agent is, and which call it works for, if that is known.
func (t *translator) showAgent(span runlog.SpanID, name, call, state string) {
	data := chunk{"name": name, "state": state}
	if call != "" {
		data["call"] = call
	}
	t.send(chunk{"type": "data-weft-agent", "id": fmt.Sprintf("%s.a%d", t.run, span), "data": data})
}

func (t *translator) endAgent(e *runlog.Event, d *runlog.AgentEndData) {
	name, known := t.agents[e.Span]
	if !known {
		return
	}
	delete(t.agents, e.Span)
	state := "done"
	switch {
	case d.Error != nil && d.Error.Type == "interrupted":
		state = "waiting"
	case d.Error != nil:
		state = "failed"
	}
	t.showAgent(e.Span, name, "", state)
}

// answered notes the calls that were rejected, and those that the page could not carry out.
func (t *translator) answered(d *runlog.RepliesData) {
	for _, p := range t.points {
		var result adk.ClientToolResult
		if p.Kind == runs.KindClientTool && json.Unmarshal(d.Replies[p.ID], &result) == nil && result.Error != "" {
			t.failed[p.Call] = true
		}
		var decision struct{ Verdict string }
		if p.Kind == runs.KindApproval && json.Unmarshal(d.Replies[p.ID], &decision) == nil && decision.Verdict == "rejected" {
			t.denied[p.Call] = true
		}
	}
	t.points = nil
}

// snapshot writes all messages of the run instead of what was written, where events are missing.
func (t *translator) snapshot(seq uint64, d *runlog.SnapshotData) {
	t.restart(0)
	t.points = d.Questions
	for i := range d.Messages {
		t.say(seq, &d.Messages[i], nil)
		for _, r := range said.Results(&d.Messages[i]) {
			t.result(&runlog.ToolEndData{Call: r.Call, Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: r.Text}}})
		}
	}
}

// asks asks for what the run waits for, in the step that it belongs to.
func (t *translator) asks() {
	for i := range t.points {
		p := &t.points[i]
		c := t.calls[p.Call]
		switch {
		case p.Kind == runs.KindClientTool && c != nil: // the page has the call
		case p.Kind == runs.KindApproval && c != nil && c.phase == asked:
			t.send(chunk{"type": "tool-approval-request", "approvalId": p.ID, "toolCallId": p.Call})
		default:
			t.send(chunk{"type": "data-weft-interrupt", "id": p.ID, "data": p})
		}
	}
}

// reasons are the words for why an answer ended.
var reasons = map[said.Finish]string{said.Whole: "stop", said.Cut: "length", said.Filtered: "content-filter",
	said.Broken: "other"}

// end ends the message.
func (t *translator) end(d *runlog.RunEndData) {
	reason := reasons[t.finish]
	if d.Status == runs.Waiting {
		for _, span := range slices.Sorted(maps.Keys(t.answers)) {
			t.endAnswer(t.answers[span])
		}
		t.asks()
		reason = "tool-calls"
	}
	t.endStep()
	t.send(chunk{"type": "message-metadata", "messageMetadata": chunk{"weft": chunk{"run": t.run, "usage": d.Usage}}})
	switch d.Status {
	case runs.Paused:
		t.send(chunk{"type": "abort", "reason": "the run was stopped"})
		t.phase = ended
		return
	case runs.Failed:
		text := "something went wrong"
		if d.Error != nil && d.Error.Message != "" {
			text = d.Error.Message
		}
		t.send(chunk{"type": "error", "errorText": text})
		reason = "error"
	}
	t.send(chunk{"type": "finish", "finishReason": reason})
	t.phase = ended
}

// broken ends a message that cannot be continued.
func (t *translator) broken(text string) {
	t.begin()
	t.endStep()
	t.send(chunk{"type": "error", "errorText": text})
	t.send(chunk{"type": "finish", "finishReason": "error"})
}
