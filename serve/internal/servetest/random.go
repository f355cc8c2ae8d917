// Package servetest has what tests of protocols share: records of random runs, in the order that package runlog promises, and
// golden files.
package servetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// RandomRun is the record of a run of agents that call models, tools and each other, several at a time. The same seed
// makes the same run. It ends as done, unless it is changed by one of the functions below.
func RandomRun(seed uint64) []runlog.Event {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	events := g.agent(0, nil, "")
	begin := runlog.Event{Type: runlog.RunStart, Data: &runlog.RunStartData{Agent: "desk", Streaming: true}}
	return number(slices.Concat([]runlog.Event{begin}, events, []runlog.Event{end(runs.Done)}), 1)
}

// Cancelled is a run that was stopped behind its first n events: what is open ends, innermost first.
func Cancelled(events []runlog.Event, n int) []runlog.Event {
	return number(append(closed(events[:n], "cancelled"), end(runs.Paused)), 1)
}

// Restarted is a run whose process died behind its first n events. Another one makes the run again from its beginning.
func Restarted(events, again []runlog.Event, n int) []runlog.Event {
	first := slices.Clone(events[:n])
	restart := runlog.Event{Type: runlog.Restarted, Data: &runlog.RestartedData{FromSeq: 1}}
	second := append([]runlog.Event{again[0], restart}, later(again[1:], renamed)...)
	return append(first, following(number(second, 2), n)...)
}

// Interrupted is a run that waits for an approval of each call that is open behind its first n events, and what follows
// when they are given: what comes later has a token of 2. It is false if no call is open.
func Interrupted(events []runlog.Event, n int) (all []runlog.Event, ok bool) {
	var open []runlog.Event
	for _, e := range unclosed(events[:n]) {
		switch e.Type {
		case runlog.ModelStart:
			return nil, false // calls are made once their answer is there
		case runlog.ToolStart:
			open = append(open, e)
		}
	}
	if len(open) == 0 {
		return nil, false
	}
	first := closed(events[:n], "interrupted")
	asked := &runlog.WaitingData{}
	answered := &runlog.RepliesData{Replies: map[string]json.RawMessage{}}
	second := []runlog.Event{events[0], {Type: runlog.Replied, Data: answered}}
	for i, e := range open {
		d := e.Data.(*runlog.ToolStartData)
		p := runs.Question{ID: fmt.Sprintf("p%d", i), Kind: runs.KindApproval, Tool: d.Name, Call: d.Call, Info: json.RawMessage(`{}`)}
		asked.Questions = append(asked.Questions, p)
		answered.Replies[p.ID] = json.RawMessage(`{"verdict":"approved"}`)
	}
	same := func(call string) string { return call }
	second = append(second, later(append(unclosed(events[:n]), events[n:]...), same)...)
	first = append(first, runlog.Event{Type: runlog.Waiting, Data: asked}, end(runs.Waiting))
	first = number(first, 1)
	return append(first, following(number(second, 2), len(first))...), true
}

func end(s runs.Status) runlog.Event {
	return runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: s, Usage: runs.Usage{Input: 3, Output: 4, Total: 7}}}
}

// number gives events their positions.
func number(events []runlog.Event, token uint64) []runlog.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].V, events[i].Run, events[i].Token, events[i].Seq = runlog.Version, "r_1", token, uint64(i+1)
	}
	return events
}

// following has events follow on n others.
func following(events []runlog.Event, n int) []runlog.Event {
	for i := range events {
		events[i].Seq += uint64(n)
	}
	return events
}

// later gives spans names that an earlier stretch has not used, and calls other ones.
func later(events []runlog.Event, renamed func(call string) string) []runlog.Event {
	const more = 1000
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		if e.Span != 0 {
			e.Span += more
		}
		if e.Parent != 0 {
			e.Parent += more
		}
		switch d := e.Data.(type) {
		case *runlog.AgentStartData:
			e.Data = &runlog.AgentStartData{Name: d.Name, Kind: d.Kind, Call: renamed(d.Call)}
		case *runlog.ModelDeltaData:
			c := *d
			c.Call, e.Data = renamed(d.Call), &c
		case *runlog.ModelEndData:
			c := *d
			c.Calls = slices.Clone(d.Calls)
			for i := range c.Calls {
				c.Calls[i] = renamed(c.Calls[i])
			}
			e.Data = &c
		case *runlog.ToolStartData:
			c := *d
			c.Call, e.Data = renamed(d.Call), &c
		case *runlog.ToolDeltaData:
			e.Data = &runlog.ToolDeltaData{Call: renamed(d.Call), Text: d.Text}
		case *runlog.ToolEndData:
			c := *d
			c.Call, e.Data = renamed(d.Call), &c
		}
	}
	return events
}

func renamed(call string) string {
	if call == "" {
		return ""
	}
	return call + "~2"
}

// unclosed are the beginnings of the spans that have not ended.
func unclosed(events []runlog.Event) (open []runlog.Event) {
	for _, e := range events {
		switch e.Type {
		case runlog.AgentStart, runlog.ModelStart, runlog.ToolStart:
			open = append(open, e)
		case runlog.AgentEnd, runlog.ModelEnd, runlog.ToolEnd:
			open = slices.DeleteFunc(open, func(o runlog.Event) bool { return o.Span == e.Span })
		}
	}
	return open
}

// closed ends what is open with an error, innermost first.
func closed(events []runlog.Event, why string) []runlog.Event {
	events = slices.Clone(events)
	failure := &runlog.Err{Type: why, Message: "it was " + why}
	for _, e := range slices.Backward(unclosed(events)) {
		over := e
		switch d := e.Data.(type) {
		case *runlog.AgentStartData:
			over.Type, over.Data = runlog.AgentEnd, &runlog.AgentEndData{Error: failure}
		case *runlog.ModelStartData:
			over.Type, over.Data = runlog.ModelEnd, &runlog.ModelEndData{Error: failure}
		case *runlog.ToolStartData:
			over.Type, over.Data = runlog.ToolEnd, &runlog.ToolEndData{Call: d.Call, Error: failure}
		}
		events = append(events, over)
	}
	return events
}

type generator struct {
	*rand.Rand
	spans, calls, words int
}

func (g *generator) span() runlog.SpanID {
	g.spans++
	return runlog.SpanID(g.spans)
}

// word is a text that comes once in a run.
func (g *generator) word() string {
	g.words++
	return fmt.Sprintf("w%d ", g.words)
}

// agent returns the events of an agent.
func (g *generator) agent(parent runlog.SpanID, path []string, call string) (events []runlog.Event) {
	name := fmt.Sprintf("agent%d", len(path))
	self := runlog.Event{Span: g.span(), Parent: parent, Agent: name, Path: append(slices.Clone(path), name)}
	add := func(e runlog.Event, t runlog.Type, data any) {
		e.Type, e.Data = t, data
		events = append(events, e)
	}
	add(self, runlog.AgentStart, &runlog.AgentStartData{Name: name, Kind: "ChatModelAgent", Call: call})
	if call == "" && len(path) < 2 && g.IntN(4) == 0 { // agents at the same time
		events = append(events, g.merged(g.agent(self.Span, self.Path, ""), g.agent(self.Span, self.Path, ""))...)
	} else {
		for turn, last := 0, g.IntN(3); turn <= last; turn++ {
			events = append(events, g.turn(self, turn < last)...)
		}
	}
	add(self, runlog.AgentEnd, &runlog.AgentEndData{})
	return events
}

// turn is an answer of a model, with attempts that do not count before it, and the calls that it asks for.
func (g *generator) turn(self runlog.Event, calls bool) (events []runlog.Event) {
	attempt := 1
	for ; g.IntN(5) == 0; attempt++ {
		answer, _ := g.model(self, attempt, calls, true)
		events = append(events, answer...)
	}
	answer, asked := g.model(self, attempt, calls, false)
	events = append(events, answer...)
	var tools [][]runlog.Event
	for _, c := range asked {
		tools = append(tools, g.tool(self, c))
	}
	return append(events, g.merged(tools...)...)
}

// model is a call of a model.
func (g *generator) model(self runlog.Event, attempt int, calls, again bool) (events []runlog.Event, asked []schema.ToolCall) {
	e := self
	e.Parent, e.Span = self.Span, g.span()
	add := func(t runlog.Type, data any) {
		e.Type, e.Data = t, data
		events = append(events, e)
	}
	add(runlog.ModelStart, &runlog.ModelStartData{Attempt: attempt})
	said := &schema.Message{Role: schema.Assistant}
	streams := g.IntN(3) > 0
	for range g.IntN(4) {
		kind, text := runlog.Text, g.word()
		if g.IntN(3) == 0 {
			kind = runlog.Reasoning
			said.ReasoningContent += text
		} else {
			said.Content += text
		}
		if streams {
			add(runlog.ModelDelta, &runlog.ModelDeltaData{Kind: kind, Text: text})
		}
	}
	var names []string
	if calls {
		var pieces [][]runlog.Event
		for range 1 + g.IntN(3) {
			g.calls++
			c := schema.ToolCall{ID: fmt.Sprintf("call_%d", g.calls), Type: "function"}
			c.Function = schema.FunctionCall{Name: "look", Arguments: fmt.Sprintf(`{"n":%d}`, g.calls)}
			said.ToolCalls, names = append(said.ToolCalls, c), append(names, c.ID)
			var args []runlog.Event
			for _, text := range []string{"", c.Function.Arguments[:3], c.Function.Arguments[3:]} {
				e.Type, e.Data = runlog.ModelDelta, &runlog.ModelDeltaData{Kind: runlog.Args, Text: text, Call: c.ID, Name: "look"}
				args = append(args, e)
			}
			pieces = append(pieces, args)
		}
		if streams {
			events = append(events, g.merged(pieces...)...)
		}
	}
	if again {
		events = events[:1+g.IntN(len(events))]
		add(runlog.ModelEnd, &runlog.ModelEndData{Again: true, Error: &runlog.Err{Type: "error", Message: "cut"}})
		return events, nil
	}
	m := runlog.MessageOf(said)
	add(runlog.ModelEnd, &runlog.ModelEndData{Message: &m, Calls: names})
	return events, said.ToolCalls
}

// tool is a call of a tool, in which another agent may work.
func (g *generator) tool(self runlog.Event, c schema.ToolCall) (events []runlog.Event) {
	e := self
	e.Parent, e.Span = self.Span, g.span()
	add := func(e runlog.Event, t runlog.Type, data any) {
		e.Type, e.Data = t, data
		events = append(events, e)
	}
	add(e, runlog.ToolStart, &runlog.ToolStartData{Call: c.ID, CallID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	result := g.word()
	switch g.IntN(4) {
	case 0:
		if len(self.Path) < 3 {
			events = append(events, g.agent(e.Span, self.Path, c.ID)...)
		}
	case 1:
		inside := e
		inside.Span, inside.Parent = 0, e.Span
		add(inside, runlog.Progress, &runlog.ProgressData{Call: c.ID, Message: "half"})
		add(inside, runlog.Custom, &runlog.CustomData{Name: "news", Value: json.RawMessage(`{"a":1}`)})
	case 2:
		add(e, runlog.ToolDelta, &runlog.ToolDeltaData{Call: c.ID, Text: result})
	}
	over := &runlog.ToolEndData{Call: c.ID, Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: result}}}
	over.IsError = g.IntN(5) == 0
	add(e, runlog.ToolEnd, over)
	return events
}

// merged mixes events that happen at the same time: each list keeps its order.
func (g *generator) merged(lists ...[]runlog.Event) (all []runlog.Event) {
	lists = slices.DeleteFunc(lists, func(l []runlog.Event) bool { return len(l) == 0 })
	for len(lists) > 0 {
		i := g.IntN(len(lists))
		all = append(all, lists[i][0])
		if lists[i] = lists[i][1:]; len(lists[i]) == 0 {
			lists = slices.Delete(lists, i, i+1)
		}
	}
	return all
}
