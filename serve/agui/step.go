package agui

import (
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
)

// step is a node of a graph that has not ended.
type step struct {
	scope
	span runlog.SpanID
	name string
}

// startStep begins a node. Names of those that are open differ.
func (t *translator) startStep(e *runlog.Event, d *runlog.NodeStartData) {
	if !t.conf.Steps {
		return
	}
	name := d.Node
	for n := 2; slices.ContainsFunc(t.steps, func(s step) bool { return s.name == name }); n++ {
		name = fmt.Sprintf("%s (%d)", d.Node, n)
	}
	s := step{t.scopes[e.Parent], e.Span, name}
	t.scopes[e.Span] = s.scope
	t.steps = append(t.steps, s)
	t.out(s.scope, event{Type: "STEP_STARTED", StepName: name})
}

func (t *translator) endStep(span runlog.SpanID) {
	at := slices.IndexFunc(t.steps, func(s step) bool { return s.span == span })
	if at < 0 {
		return
	}
	s := t.steps[at]
	t.steps = slices.Delete(t.steps, at, at+1)
	t.out(s.scope, event{Type: "STEP_FINISHED", StepName: s.name})
}
