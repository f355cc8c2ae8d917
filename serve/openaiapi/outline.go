package openaiapi

import (
	"strings"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve/internal/said"
)

// reader gets what of a run a client of these APIs sees.
type reader interface {
	// message begins another message of the agent.
	message()
	// text is a piece of the message.
	text(piece string)
	// work is a piece of how it comes to that.
	work(piece string)
	// end is called with the end of the run, or of its stretch.
	end(e ending)
}

// ending is the end of a run, or of its stretch.
type ending struct {
	status runs.Status
	// points has the points that it waits for.
	points []runs.Question
	err    *runlog.Err
	usage  runs.Usage
	// finish is the reason for which the last answer of a model ended.
	finish said.Finish
}

// outline picks out of the events of a run what its outermost agent says. Agents and models that work for a tool call are
// inside of it.
type outline struct {
	to reader
	// inside are the spans of calls, and of what is inside of them.
	inside map[runlog.SpanID]bool
	// model is the call of a model whose answer is being read, said whether it has said something.
	model runlog.SpanID
	said  bool
	// shown: a message was shown.
	shown  bool
	points []runs.Question
	// finish is the reason for which the answer read last ended.
	finish said.Finish
}

func newOutline(to reader) *outline { return &outline{to: to, inside: map[runlog.SpanID]bool{}} }

// add takes the next event.
func (o *outline) add(e *runlog.Event) {
	if o.inside[e.Parent] && e.Span != 0 {
		o.inside[e.Span] = true
	}
	switch d := e.Data.(type) {
	case *runlog.AgentStartData:
		if d.Call != "" {
			o.inside[e.Span] = true
		}
	case *runlog.ToolStartData:
		if !o.inside[e.Parent] {
			o.to.work(d.Name + " " + d.Args + "\n")
		}
		o.inside[e.Span] = true
	case *runlog.ModelStartData:
		if !o.inside[e.Span] {
			o.model, o.said = e.Span, false
		}
	case *runlog.ModelDeltaData:
		if e.Span == o.model && !o.inside[e.Span] {
			o.delta(d)
		}
	case *runlog.ModelEndData:
		if e.Span == o.model && !o.inside[e.Span] && !d.Aside && d.Error == nil {
			if !o.said {
				o.say(said.In(d.Message).Text)
			}
			o.finish = said.FinishOf(d.Finish)
		}
	case *runlog.MessageData:
		if !o.inside[e.Span] && !o.inside[e.Parent] && said.ByModel(&d.Message) {
			o.said = false
			o.say(said.In(&d.Message).Text)
		}
	case *runlog.SnapshotData:
		o.snapshot(d)
	case *runlog.WaitingData:
		o.points = d.Questions
	case *runlog.RunEndData:
		o.to.end(ending{status: d.Status, points: o.points, err: d.Error, usage: d.Usage, finish: o.finish})
	}
}

func (o *outline) delta(d *runlog.ModelDeltaData) {
	switch d.Kind {
	case runlog.Text:
		o.say(d.Text)
	case runlog.Reasoning:
		o.to.work(d.Text)
	}
}

// say shows a piece of a message.
func (o *outline) say(text string) {
	if text == "" {
		return
	}
	if !o.said {
		o.to.message()
	}
	o.said, o.shown = true, true
	o.to.text(text)
}

// snapshot is all messages, where events are missing.
func (o *outline) snapshot(d *runlog.SnapshotData) {
	if o.shown { // what is there was shown, up to where it broke off
		return
	}
	for i := range d.Messages {
		if said.ByModel(&d.Messages[i]) {
			o.said = false
			o.say(said.In(&d.Messages[i]).Text)
		}
	}
	o.points = d.Questions
}

// question returns the questions of a run, in words.
func question(points []runs.Question) string {
	var lines []string
	for _, p := range points {
		text := p.Text
		if text == "" {
			text = "The agent waits for an answer."
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// clientCalls are the calls that the client is to carry out, if those are all that a run waits for.
func clientCalls(points []runs.Question) []runs.Question {
	for _, p := range points {
		if p.Kind != runs.KindClientTool {
			return nil
		}
	}
	return points
}
