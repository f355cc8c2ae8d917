package agui

import (
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// subagent is a sub-agent that has not ended for the client.
type subagent struct {
	span runlog.SpanID
	id   string
	// tool is the span of the call that it works for, or of what it is in.
	tool  runlog.SpanID
	phase subagentPhase
}

// subagentPhase tracks how far a sub-agent is. What has ended is removed.
//
//	from             to         when
//	working          rested     it ends without an error while the call that it works for is open: that says what it came to
//	working, rested  suspended  it waits, or its call does; it ends with the stretch, when the questions are known
type subagentPhase int

const (
	working subagentPhase = iota
	rested
	suspended
)

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
	s := &subagent{span: e.Span, id: fmt.Sprintf("%s.a%d", t.run, e.Span), tool: e.Parent}
	t.around[s.id] = around.sub
	if d.Call != "" {
		t.workers[d.Call] = s.id
	}
	t.scopes[e.Span] = scope{sub: s.id}
	t.subs = append(t.subs, s)
	t.send(event{Type: "SUBAGENT_STARTED", SubagentRunID: s.id, Name: d.Name, Description: t.descriptions[d.Name],
		ParentSubagent: around.sub, ParentToolCall: d.Call})
}

// endAgent ends an agent, unless the end of its call is to say how it ended.
func (t *translator) endAgent(span runlog.SpanID, err *runlog.Err) {
	s := t.subagent(span)
	switch {
	case s == nil:
	case err == nil && t.tools[s.tool]:
		t.closeScope(s.id)
		s.phase = rested
	default:
		t.endSubagent(s, nil, err)
	}
}

// endRested ends the sub-agents that have worked for a call, which has a result, or an error.
func (t *translator) endRested(tool runlog.SpanID, result any, err *runlog.Err) {
	for _, s := range slices.Clone(t.subs) {
		if s.tool == tool && s.phase == rested {
			t.endSubagent(s, result, err)
		}
	}
}

func (t *translator) subagent(span runlog.SpanID) *subagent {
	if at := slices.IndexFunc(t.subs, func(s *subagent) bool { return s.span == span }); at >= 0 {
		return t.subs[at]
	}
	return nil
}

// endSubagent ends a sub-agent, and those in it. One that waits ends with the stretch.
func (t *translator) endSubagent(s *subagent, result any, err *runlog.Err) {
	t.closeScope(s.id)
	if err != nil && err.Type == interrupted {
		s.phase = suspended
		return
	}
	for _, inner := range slices.Backward(slices.Clone(t.subs)) {
		if t.around[inner.id] == s.id {
			t.suspend(inner)
		}
	}
	t.subs = slices.DeleteFunc(t.subs, func(other *subagent) bool { return other == s })
	if err != nil {
		t.send(event{Type: "SUBAGENT_ERROR", SubagentRunID: s.id, Message: err.Message, Code: err.Type})
		return
	}
	t.send(event{Type: "SUBAGENT_FINISHED", SubagentRunID: s.id, Result: result, Outcome: &outcome{Type: "success"}})
}

// suspend ends a sub-agent that has not finished, and the sub-agents in it: it waits, or was stopped.
func (t *translator) suspend(s *subagent) {
	for _, inner := range slices.Backward(slices.Clone(t.subs)) {
		if t.around[inner.id] == s.id {
			t.suspend(inner)
		}
	}
	t.closeScope(s.id)
	t.subs = slices.DeleteFunc(t.subs, func(other *subagent) bool { return other == s })
	t.send(event{Type: "SUBAGENT_FINISHED", SubagentRunID: s.id,
		Outcome: &outcome{Type: "suspended", InterruptIDs: t.interruptsIn(s)}})
}

// interruptsIn are the questions that a sub-agent, or one in it, waits for.
func (t *translator) interruptsIn(s *subagent) (ids []string) {
	for i := range t.points {
		p := &t.points[i]
		in := t.workers[p.Call]
		if in == "" {
			in = t.calls[p.Call].sub
		}
		for in != "" && in != s.id {
			in = t.around[in]
		}
		if in == s.id && p.Kind != runs.KindClientTool {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
