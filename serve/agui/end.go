package agui

import (
	"encoding/json"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// end ends the stream.
func (t *translator) end(d *runlog.RunEndData) {
	t.closeAll()
	u := t.usage
	u.Input, u.Output, u.Total = d.Usage.Input, d.Usage.Output, d.Usage.Total
	u.Reasoning, u.CachedInput, u.CachedWrites = d.Usage.OutputReasoning, d.Usage.InputCached, d.Usage.InputCacheWrite
	var used []usage
	if u.Total > 0 {
		used = []usage{u}
	}
	finished := event{Type: "RUN_FINISHED", ThreadID: t.threadID, RunID: t.runID, Usage: used}
	switch d.Status {
	case runs.Failed:
		failure := &runlog.Err{Type: "error", Message: "something went wrong"}
		if d.Error != nil && d.Error.Message != "" {
			failure = d.Error
		}
		finished = event{Type: "RUN_ERROR", Message: failure.Message, Code: failure.Type, Usage: used}
	case runs.Paused:
		if finished.Outcome = &(outcome{Type: "cancelled"}); t.legacy {
			finished = event{Type: "RUN_ERROR", Message: "the run was stopped", Code: "cancelled"}
		}
	case runs.Waiting:
		t.showState()
		t.showPage()
		finished.Outcome = t.asks()
	default:
		finished.Outcome = &outcome{Type: "success"}
		if t.final != "" {
			finished.Result = t.final
		}
	}
	t.send(finished)
	t.points, t.phase = nil, between
}

// broken ends a stream that cannot be continued.
func (t *translator) broken(why, code string) {
	t.begin()
	t.closeAll()
	t.send(event{Type: "RUN_ERROR", Message: why, Code: code})
}

// asks is the outcome of a run that waits: for calls of the client, for answers, or for both.
func (t *translator) asks() *outcome {
	o := &outcome{}
	for i := range t.points {
		p := &t.points[i]
		if p.Kind == runs.KindClientTool {
			o.Pending = append(o.Pending, p.Call)
			continue
		}
		o.Interrupts = append(o.Interrupts, t.interrupt(p))
	}
	if o.Type = "success"; o.Interrupts != nil || o.Pending == nil {
		o.Type = "interrupt"
	}
	return o
}

// approvalSchema is the schema of the answer to an approval.
var approvalSchema = json.RawMessage(`{"type":"object",` +
	`"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]}`)

// details has what else is known of a question.
type details struct {
	Kind    runs.Kind       `json:"kind"`
	Tool    string          `json:"tool,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Address string          `json:"address,omitempty"`
	Info    json.RawMessage `json:"info,omitempty"`
}

// interrupt is a question for a client.
func (t *translator) interrupt(p *runs.Question) interrupt {
	i := interrupt{ID: p.ID, Message: p.Text, ToolCallID: p.Call, ResponseSchema: p.Schema,
		Metadata: map[string]any{"weft": details{p.Kind, p.Tool, p.Agent, p.Address, p.Info}}}
	if !t.legacy {
		i.SubagentRunID = t.calls[p.Call].sub
	}
	if !p.Expires.IsZero() {
		i.ExpiresAt = p.Expires.UTC().Format(time.RFC3339)
	}
	switch p.Kind {
	case runs.KindApproval:
		if i.Reason = "tool_call"; i.ResponseSchema == nil {
			i.ResponseSchema = approvalSchema
		}
	case runs.KindQuestion:
		switch {
		case p.URL != "":
			i.Reason = "weft:url"
		case p.Text != "" || p.Schema != nil:
			i.Reason = "input_required"
		default:
			i.Reason = "weft:interrupt"
		}
	case runs.KindOutcome:
		i.Reason = "weft:outcome_unknown"
	default:
		i.Reason = "weft:interrupt"
	}
	return i
}
