package agui

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve/internal/said"
)

// translator makes events of the protocol of the events of a run. It is fed all of them, in order, and keeps what clients
// hold it to: nothing has content that is not begun, everything that is begun ends before the run does, innermost first,
// and no ID begins twice.
type translator struct {
	threadID, runID, parentRunID string
	// run is the ID of the run on the server. It is in the IDs of messages, so that they are the same for all requests.
	run  string
	conf Config
	// legacy: the client is one of before 1.0, which knows neither sub-agents nor cancelled runs.
	legacy bool
	// descriptions has the descriptions of agents, by their names.
	descriptions map[string]string
	// send gets the events.
	send func(event)

	phase phase
	// scopes are the spans of agents, calls and steps, and whose work is inside of them.
	scopes map[runlog.SpanID]scope
	// answers are the calls of models that are open.
	answers map[runlog.SpanID]*answer
	// calls are the calls that a client knows, by their names in the record, and whose they are.
	calls map[string]scope
	// has are the calls whose results the client has: it has carried them out, or sends an answer again.
	has map[string]bool
	// unnamed are calls that clients are told of when their names are known.
	unnamed said.Unnamed
	// tools are the calls that are carried out.
	tools map[runlog.SpanID]bool
	// said are the answers of which clients know something, in the order of their beginnings.
	said []*answer
	// subs are the sub-agents that are open, in the order of their beginnings.
	subs []*subagent
	// around is the sub-agent around each, workers the one that works for a call.
	around, workers map[string]string

	steps  []step
	points []runs.Question
	state  state
	usage  usage
	// final is the last text of the outermost agent.
	final string
	// page has the messages that the client shows, nil if they are not known.
	page *transcript
	// again: the client asks for what it may have been shown already. seen are the messages of the run that it was shown
	// before what it asks for.
	again bool
	seen  map[string]bool
}

// phase tracks how far the stream is.
//
//	from     to       when
//	between  inside   anything happens in the run
//	inside   between  the run ends or waits; it may continue
type phase int

const (
	between phase = iota
	inside
)

// scope is whose work a span is.
type scope struct {
	// sub is the innermost sub-agent, "" outside of all. hidden: the client does not see it.
	sub    string
	hidden bool
}

func newTranslator(threadID, runID string, conf Config, legacy bool, send func(event)) *translator {
	return &translator{threadID: threadID, runID: runID, run: runID, conf: conf, legacy: legacy, send: send,
		scopes: map[runlog.SpanID]scope{}, answers: map[runlog.SpanID]*answer{}, calls: map[string]scope{},
		tools: map[runlog.SpanID]bool{}, around: map[string]string{}, workers: map[string]string{}}
}

// begin sends what a stretch begins with, once.
func (t *translator) begin() {
	if t.phase == inside {
		return
	}
	t.phase = inside
	e := event{Type: "RUN_STARTED", ThreadID: t.threadID, RunID: t.runID, ParentRunID: t.parentRunID}
	if !t.legacy {
		e.ProtocolVersion = "1.0"
	}
	t.send(e)
	t.showState()
	t.takeBack()
}

// add takes the next event of the run. What ends a stretch ends the stream, unless the run has continued since.
func (t *translator) add(e *runlog.Event) {
	t.begin()
	switch d := e.Data.(type) {
	case *runlog.AgentStartData:
		t.startAgent(e, d)
	case *runlog.AgentEndData:
		t.endAgent(e.Span, d.Error)
	case *runlog.ModelStartData:
		t.usage.Provider, t.usage.Model = d.Provider, d.Model
		t.answers[e.Span] = &answer{scope: t.scopes[e.Parent], id: t.messageID(e.Span), seq: e.Seq, openCall: map[string]bool{}}
	case *runlog.ModelDeltaData:
		t.delta(t.answers[e.Span], d)
	case *runlog.ModelEndData:
		t.endModel(e.Span, d)
	case *runlog.MessageData:
		id := fmt.Sprintf("%s.m%d", t.run, e.Seq)
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
		t.out(t.scopes[e.Parent], event{Type: "ACTIVITY_SNAPSHOT", MessageID: fmt.Sprintf("%s.p.%s", t.run, d.Call),
			ActivityType: "PROGRESS", Content: d, Replace: true})
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
	case *runlog.WaitingData:
		t.points = d.Questions
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
	t.emit(e)
}

func (t *translator) messageID(span runlog.SpanID) string { return fmt.Sprintf("%s.%d", t.run, span) }

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
	t.showPage()
}

// snapshot shows all messages of the run instead of what was shown, where events are missing.
func (t *translator) snapshot(e *runlog.Event, d *runlog.SnapshotData) {
	t.restart(0)
	t.points, t.state = d.Questions, state{} // which is not among what is kept
	for i := range d.Messages {
		m, id := &d.Messages[i], fmt.Sprintf("%s.s%d.%d", t.run, e.Seq, i)
		for n, r := range said.Results(m) {
			t.out(scope{}, event{Type: "TOOL_CALL_RESULT", MessageID: fmt.Sprintf("%s.%d", id, n), ToolCallID: r.Call,
				Content: r.Text, Role: "tool"})
		}
		t.message(&answer{id: id, seq: e.Seq, openCall: map[string]bool{}}, m)
	}
}

// closeScope ends what is open in an agent, "" for the outermost ones: messages before the steps that they are in.
func (t *translator) closeScope(sub string) {
	for _, span := range slices.Backward(slices.Sorted(maps.Keys(t.answers))) {
		if a := t.answers[span]; a.sub == sub {
			t.close(a)
			delete(t.answers, span)
		}
	}
	for _, s := range slices.Backward(slices.Clone(t.steps)) {
		if s.sub == sub {
			t.endStep(s.span)
		}
	}
}

// closeAll ends everything that is open, innermost first.
func (t *translator) closeAll() {
	for len(t.subs) > 0 {
		t.suspend(t.subs[len(t.subs)-1])
	}
	t.closeScope("")
	clear(t.tools)
}
