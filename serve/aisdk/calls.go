package aisdk

import (
	"encoding/json"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// call is a call of a tool.
type call struct {
	name, args, output string
	phase              callPhase
}

// callPhase says how much a client knows of a call.
//
//	from      to         when
//	writing   asked      its input is complete
//	asked     answered   its result is there, or it does not count
type callPhase int

const (
	writing callPhase = iota
	asked
	answered
)

// tool is a chunk about a call. Tools are dynamic unless the page knows them.
func (t *translator) tool(id string, c chunk) chunk {
	c["toolCallId"] = id
	if known := t.calls[id]; known != nil && !slices.Contains(t.conf.StaticTools, known.name) {
		c["dynamic"] = true
	}
	return c
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

// abandon ends a call that does not count.
func (t *translator) abandon(id string) {
	const why = "the answer that it is in is made again"
	c := t.calls[id]
	switch c.phase {
	case writing:
		t.send(t.tool(id, chunk{"type": "tool-input-error", "toolName": c.name, "input": c.args, "errorText": why}))
	case asked:
		t.send(t.tool(id, chunk{"type": "tool-output-error", "errorText": why}))
	}
	c.phase = answered
}

// startTool shows a call that is carried out: one that no message has, or has not yet.
func (t *translator) startTool(e *runlog.Event, d *runlog.ToolStartData) {
	hidden := t.inside[e.Parent]
	t.inside[e.Span] = true
	if hidden {
		return
	}
	if c := t.calls[d.Call]; c != nil {
		if c.phase == writing { // it is carried out before the answer that it is in is there
			c.args = d.Args
			t.ask(d.Call)
		}
		return
	}
	t.calls[d.Call] = &call{name: d.Name, args: d.Args}
	t.writers++
	t.ask(d.Call)
}

// toolDelta shows what there is of a result.
func (t *translator) toolDelta(d *runlog.ToolDeltaData) {
	c := t.calls[d.Call]
	if c == nil || c.phase != asked || d.Text == "" {
		return
	}
	c.output += d.Text
	t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": c.output, "preliminary": true}))
}

// result shows what came of a call. A call that was interrupted has nothing yet.
func (t *translator) result(d *runlog.ToolEndData) {
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
	case d.IsError || t.failed[d.Call]:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-error", "errorText": text}))
	case len(d.Structured) > 0:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": d.Structured}))
	case len(d.Parts) == 1 && d.Parts[0].Type == schema.ToolPartTypeText || len(d.Parts) == 0:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": text}))
	default:
		t.send(t.tool(d.Call, chunk{"type": "tool-output-available", "output": d.Parts}))
	}
}
