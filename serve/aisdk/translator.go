package aisdk

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
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
	// model is the call of a model that is being read, with its open part; 0 in a step that was reset.
	model runlog.SpanID
	part  part
	parts int
	// streamed are the kinds of parts that the answer has had in pieces.
	streamed map[string]bool
	// calls are those of the message.
	calls map[string]*call
	// open are the calls whose input is being written, in their order.
	open   []string
	points []runlog.Point
	// denied are the calls that a person has rejected.
	denied map[string]bool
	cut    bool
	run    string
}

// phase is how far the message is.
//
//	from       to        when
//	notBegun   between   anything happens
//	between    inStep    a model is called
//	inStep     between   the next one is, or the run ends or waits
//	between    ended     the run ends or waits
type phase int

const (
	notBegun phase = iota
	between
	inStep
	ended
)

// part is a part that is being written: text, reasoning, or none.
type part struct{ kind, id string }

// call is a call of a tool.
type call struct {
	name, args, output string
	phase              callPhase
}

// callPhase is what a client knows of a call.
//
//	from      to         when
//	writing   asked      its input is complete
//	asked     answered   its result is there
type callPhase int

const (
	writing callPhase = iota
	asked
	answered
)

func newTranslator(run, messageID string, conf Config, send func(chunk)) *translator {
	return &translator{run: run, messageID: messageID, conf: conf, send: send, inside: map[runlog.SpanID]bool{},
		agents: map[runlog.SpanID]string{}, calls: map[string]*call{}, denied: map[string]bool{}, streamed: map[string]bool{}}
}

// begin begins the message, once.
func (t *translator) begin() {
	if t.phase == notBegun {
		t.phase = between
		t.send(chunk{"type": "start", "messageId": t.messageID,
			"messageMetadata": chunk{"weft": chunk{"run": t.run}}})
	}
}

// again begins the message that continues, after what was sent for an earlier request.
func (t *translator) again() { t.phase, t.part = notBegun, part{} }

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
			t.startStep(e.Span)
		}
	case *runlog.ModelDeltaData:
		if e.Span == t.model {
			t.delta(d)
		}
	case *runlog.ModelEndData:
		if e.Span == t.model {
			t.endModel(d)
		}
	case *runlog.MessageData:
		t.message(e, d)
	case *runlog.ToolStartData:
		t.startTool(e, d)
	case *runlog.ToolDeltaData:
		t.toolDelta(e, d)
	case *runlog.ToolEndData:
		t.endTool(e, d)
	case *runlog.ProgressData:
		t.send(chunk{"type": "data-weft-progress", "data": d, "transient": true})
	case *runlog.CustomData:
		t.send(chunk{"type": "data-weft-custom", "data": d, "transient": true})
	case *runlog.InterruptData:
		t.points = d.Points
	case *runlog.ResumeData:
		t.answered(d)
	case *runlog.RestartedData:
		t.retract()
	case *runlog.SnapshotData:
		t.snapshot(d)
	case *runlog.RunEndData:
		t.end(d)
	}
}

// startStep begins a step, or fills one again that was reset.
func (t *translator) startStep(span runlog.SpanID) {
	clear(t.streamed)
	if t.phase == inStep && t.model == 0 {
		t.model = span
		return
	}
	t.endStep()
	t.phase, t.model = inStep, span
	t.send(chunk{"type": "start-step"})
}

// endStep ends the step, and what is open in it.
func (t *translator) endStep() {
	t.endPart()
	t.endInputs()
	t.model = 0
	if t.phase == inStep {
		t.phase = between
		t.send(chunk{"type": "finish-step"})
	}
}

func (t *translator) endPart() {
	if t.part.kind != "" {
		t.send(chunk{"type": t.part.kind + "-end", "id": t.part.id})
		t.part = part{}
	}
}

// write writes a piece of a part, and begins it if another one is open.
func (t *translator) write(kind, text string) {
	if text == "" || kind == "reasoning" && t.conf.HideReasoning {
		return
	}
	if t.part.kind != kind {
		t.endPart()
		t.parts++
		t.part = part{kind, fmt.Sprintf("%s.%d", t.run, t.parts)}
		t.send(chunk{"type": kind + "-start", "id": t.part.id})
	}
	t.streamed[kind] = true
	t.send(chunk{"type": kind + "-delta", "id": t.part.id, "delta": text})
}

func (t *translator) delta(d *runlog.ModelDeltaData) {
	switch d.Kind {
	case runlog.Text:
		t.write("text", d.Text)
	case runlog.Reasoning:
		t.write("reasoning", d.Text)
	case runlog.Args:
		c := t.calls[d.Call]
		if c == nil {
			t.endPart()
			c = &call{name: d.Name}
			t.calls[d.Call] = c
			t.open = append(t.open, d.Call)
			t.send(t.tool(d.Call, chunk{"type": "tool-input-start", "toolName": d.Name}))
		}
		if d.Text != "" && c.phase == writing {
			c.args += d.Text
			t.send(chunk{"type": "tool-input-delta", "toolCallId": d.Call, "inputTextDelta": d.Text})
		}
	}
}

// tool is a chunk about a call. Tools are dynamic unless the page knows them.
func (t *translator) tool(id string, c chunk) chunk {
	c["toolCallId"] = id
	if known := t.calls[id]; known != nil && !slices.Contains(t.conf.StaticTools, known.name) {
		c["dynamic"] = true
	}
	return c
}

// endInputs says what calls are made with, of those whose input has been written.
func (t *translator) endInputs() {
	for _, id := range t.open {
		t.ask(id)
	}
	t.open = nil
}

// ask says what a call is made with.
func (t *translator) ask(id string) {
	c := t.calls[id]
	if c.phase != writing {
		return
	}
	c.phase = asked
	args := c.args
	if args == "" {
		args = "{}"
	}
	if !json.Valid([]byte(args)) {
		t.send(t.tool(id, chunk{"type": "tool-input-error", "toolName": c.name, "input": c.args,
			"errorText": "the model has written arguments that are no JSON"}))
		return
	}
	t.send(t.tool(id, chunk{"type": "tool-input-available", "toolName": c.name, "input": json.RawMessage(args)}))
}

func (t *translator) endModel(d *runlog.ModelEndData) {
	t.cut = d.Finish == "length"
	if d.Again {
		t.retract()
		return
	}
	if d.Error == nil && !d.Aside {
		t.whole(d.Message, d.Calls)
	}
	t.endPart()
	t.endInputs()
}

// retract says that what the step shows does not count.
func (t *translator) retract() {
	written := len(t.streamed) > 0 || len(t.open) > 0
	id := t.part.id
	t.endPart()
	for _, name := range t.open {
		delete(t.calls, name)
	}
	t.open = nil
	if !written {
		return
	}
	if t.conf.Version == 7 {
		t.model = 0
		t.send(chunk{"type": "reset-step"})
		return
	}
	if id == "" {
		id = fmt.Sprintf("%s.%d", t.run, t.parts)
	}
	t.send(chunk{"type": "data-weft-retracted", "data": chunk{"id": id}})
}

// whole writes what of a message did not come in pieces. calls are the names of its calls in the record.
func (t *translator) whole(m *runlog.Message, calls []string) {
	if m == nil {
		return
	}
	c := contentOf(m)
	if !t.streamed["reasoning"] {
		t.write("reasoning", c.thought)
	}
	if !t.streamed["text"] {
		t.write("text", c.text)
	}
	for _, f := range c.files {
		t.endPart()
		t.send(f)
	}
	for i, asked := range c.calls {
		id := asked.ID
		if i < len(calls) {
			id = calls[i]
		}
		if t.calls[id] != nil {
			continue
		}
		t.endPart()
		t.calls[id] = &call{name: asked.Function.Name, args: asked.Function.Arguments}
		t.ask(id)
	}
}

// message writes a message that no recorded call has made, as a step of its own.
func (t *translator) message(e *runlog.Event, d *runlog.MessageData) {
	if t.inside[e.Span] || t.inside[e.Parent] || !isAnswer(&d.Message) {
		return
	}
	t.startStep(0)
	t.whole(&d.Message, nil)
	t.endStep()
}

// content is what a message of a model has.
type content struct {
	text, thought string
	files         []chunk
	calls         []schema.ToolCall
}

// maxFile is how long the data of a file in a message may be, in base64.
const maxFile = 4 << 20 / 3

func (c *content) file(m schema.MessagePartCommon) {
	url := ""
	switch {
	case m.URL != nil:
		url = *m.URL
	case m.Base64Data != nil && len(*m.Base64Data) <= maxFile:
		url = "data:" + m.MIMEType + ";base64," + *m.Base64Data
	}
	if url != "" {
		c.files = append(c.files, chunk{"type": "file", "url": url, "mediaType": m.MIMEType})
	}
}

func contentOf(m *runlog.Message) (c content) {
	switch {
	case m.Chat != nil:
		c.text, c.thought, c.calls = m.Chat.Content, m.Chat.ReasoningContent, m.Chat.ToolCalls
		for _, p := range m.Chat.AssistantGenMultiContent {
			switch {
			case p.Image != nil:
				c.file(p.Image.MessagePartCommon)
			case p.Audio != nil:
				c.file(p.Audio.MessagePartCommon)
			case p.Video != nil:
				c.file(p.Video.MessagePartCommon)
			case p.Type == schema.ChatMessagePartTypeText:
				c.text += p.Text
			}
		}
	case m.Agentic != nil:
		for _, b := range m.Agentic.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				c.text += b.AssistantGenText.Text
			case b.Reasoning != nil:
				c.thought += b.Reasoning.Text
			case b.AssistantGenImage != nil:
				i := b.AssistantGenImage
				c.file(schema.MessagePartCommon{URL: orNil(i.URL), Base64Data: orNil(i.Base64Data), MIMEType: i.MIMEType})
			case b.FunctionToolCall != nil:
				c.calls = append(c.calls, schema.ToolCall{ID: b.FunctionToolCall.CallID,
					Function: schema.FunctionCall{Name: b.FunctionToolCall.Name, Arguments: b.FunctionToolCall.Arguments}})
			}
		}
	}
	return c
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func isAnswer(m *runlog.Message) bool {
	return m.Chat != nil && m.Chat.Role == schema.Assistant || m.Agentic != nil && m.Agentic.Role == schema.AgenticRoleTypeAssistant
}

// startTool shows a call that no message has.
func (t *translator) startTool(e *runlog.Event, d *runlog.ToolStartData) {
	hidden := t.inside[e.Parent]
	t.inside[e.Span] = true
	if hidden || t.calls[d.Call] != nil {
		return
	}
	t.calls[d.Call] = &call{name: d.Name, args: d.Args}
	t.ask(d.Call)
}

// toolDelta shows what there is of a result.
func (t *translator) toolDelta(_ *runlog.Event, d *runlog.ToolDeltaData) {
	c := t.calls[d.Call]
	if c == nil || c.phase != asked || d.Text == "" {
		return
	}
	c.output += d.Text
	t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": c.output, "preliminary": true}))
}

func (t *translator) endTool(_ *runlog.Event, d *runlog.ToolEndData) {
	c := t.calls[d.Call]
	if c == nil || c.phase != asked || d.Error != nil && (d.Error.Type == "interrupted" || d.Error.Type == "abandoned") {
		return
	}
	c.phase = answered
	text := ""
	for _, p := range d.Parts {
		text += p.Text
	}
	switch {
	case t.denied[d.Call]:
		t.send(chunk{"type": "tool-output-denied", "toolCallId": d.Call})
	case d.Error != nil:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-error", "errorText": d.Error.Message}))
	case d.IsError:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-error", "errorText": text}))
	case len(d.Structured) > 0:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": d.Structured}))
	case len(d.Parts) == 1 && d.Parts[0].Type == schema.ToolPartTypeText || len(d.Parts) == 0:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": text}))
	default:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": d.Parts}))
	}
}

// startAgent shows an agent that works for a call.
func (t *translator) startAgent(e *runlog.Event, d *runlog.AgentStartData) {
	if d.Call != "" {
		t.inside[e.Span] = true
	}
	if d.Call != "" || len(e.Path) > 1 {
		t.agents[e.Span] = d.Name
		t.send(chunk{"type": "data-weft-agent", "id": t.agentID(e.Span), "data": chunk{"name": d.Name, "call": d.Call, "state": "running"}})
	}
}

func (t *translator) agentID(span runlog.SpanID) string { return fmt.Sprintf("%s.a%d", t.run, span) }

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
	t.send(chunk{"type": "data-weft-agent", "id": t.agentID(e.Span), "data": chunk{"name": name, "state": state}})
}

// answered notes the calls that were rejected.
func (t *translator) answered(d *runlog.ResumeData) {
	for _, p := range t.points {
		var decision struct{ Verdict string }
		if p.Kind == runlog.Approval && json.Unmarshal(d.Answers[p.ID], &decision) == nil && decision.Verdict == "rejected" {
			t.denied[p.Call] = true
		}
	}
	t.points = nil
}

// snapshot writes all messages of the run, where events are missing and nothing was written.
func (t *translator) snapshot(d *runlog.SnapshotData) {
	t.points = d.Points
	if t.parts > 0 {
		return
	}
	for i := range d.Messages {
		if isAnswer(&d.Messages[i]) {
			t.startStep(0)
			t.whole(&d.Messages[i], nil)
		}
	}
	t.endStep()
}

// asks asks for what the run waits for, in the step that it belongs to.
func (t *translator) asks() {
	for i := range t.points {
		p := &t.points[i]
		c := t.calls[p.Call]
		switch {
		case p.Kind == runlog.ClientTool && c != nil: // the page has the call
		case p.Kind == runlog.Approval && c != nil && c.phase == asked:
			t.send(chunk{"type": "tool-approval-request", "approvalId": p.ID, "toolCallId": p.Call})
		default:
			t.send(chunk{"type": "data-weft-interrupt", "id": p.ID, "data": p})
		}
	}
}

// end ends the message.
func (t *translator) end(d *runlog.RunEndData) {
	reason := "stop"
	if t.cut {
		reason = "length"
	}
	if d.Status == runlog.Interrupted {
		t.endPart()
		t.endInputs()
		t.asks()
		reason = "tool-calls"
	}
	t.endStep()
	t.send(chunk{"type": "message-metadata", "messageMetadata": chunk{"weft": chunk{"run": t.run, "usage": d.Usage}}})
	switch d.Status {
	case runlog.Cancelled:
		t.send(chunk{"type": "abort", "reason": "the run was stopped"})
		t.phase = ended
		return
	case runlog.Failed:
		text := "something went wrong"
		if d.Error != nil {
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
