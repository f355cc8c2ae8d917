package picture

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/anatomy"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/drawing"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// place is the place where an agent was drawn: what arrows lead to, and the nodes where they begin and end in DOT.
type place struct{ id, first, last string }

// parent is the agent that an agent is a sub-agent of.
type parent struct {
	place
	name string
}

type artist struct {
	options
	ctx context.Context
	ids *drawing.IDs
	top *drawing.Group // for the arrows, which lead anywhere
	// open has the agents whose drawing has not ended, and asTools those that are tools. Others are drawn again where
	// they are met again: in two workflows, for example.
	open, asTools map[any]place
}

// layers are the wrappers around an agent, as one.
type layers struct {
	core      any
	parts     anatomy.Parts
	typ       string
	subAgents []any
	toParent  bool
	sealed    bool
	then      []string
}

// unwrap looks through what only wraps an agent.
func (a *artist) unwrap(agent any) layers {
	l := layers{core: agent}
	for range 100 { // a wrapper might contain itself
		l.parts = anatomy.Of(l.core)
		inside := l.parts.Inside
		if l.parts.Kind == anatomy.Other {
			agents := agentsInside(l.core)
			if len(agents) != 1 || a.name(agents[0]) != a.name(l.core) {
				break
			}
			inside = agents[0]
			if l.typ == "" {
				l.typ = typeName(l.core)
			}
		} else if l.parts.Kind != anatomy.Wrapper {
			break
		}
		l.subAgents = append(l.subAgents, l.parts.SubAgents...)
		l.toParent, l.sealed = l.toParent || l.parts.ToParent, l.sealed || l.parts.Sealed
		l.then = append(l.then, l.parts.Then...)
		l.core = inside
	}
	if l.typ == "" {
		l.typ = typeName(l.core)
	}
	return l
}

// agent draws an agent into a group, with everything around it, and returns its place.
func (a *artist) agent(agent any, into *drawing.Group, above *parent) place {
	l := a.unwrap(agent)
	key, known := identity(l.core)
	if p, again := a.open[key]; known && again {
		if p.first == "" { // a frame around this, which Mermaid cannot draw an arrow to
			p = a.box(into, a.name(l.core), "the frame around this")
		}
		return p
	}
	members := l.parts.Members
	if l.parts.Kind == anatomy.Other {
		members = agentsInside(l.core)
	}
	// It has a place before that which is inside is drawn, which may contain it.
	var p place
	if len(members) > 0 {
		p.id = a.ids.New("g_", a.name(l.core))
	} else {
		p = a.box(into, a.name(l.core), a.text(&l)...)
	}
	if known {
		a.open[key] = p
		defer delete(a.open, key)
	}
	if len(members) > 0 {
		a.frame(&l, members, into, &p)
	}
	a.tools(&l, p, into)
	subs := a.subAgents(&l, agent, p, into)
	a.successors(&l, p, into, subs, above)
	return p
}

// identity returns the key by which an agent is recognized, if it is a pointer.
func identity(agent any) (any, bool) {
	v := reflect.ValueOf(agent)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, false // not agent, which may be no key of a map
	}
	return agent, true
}

// box draws one box. Its first line is the name, unless that is empty.
func (a *artist) box(into *drawing.Group, name string, text ...string) place {
	if name != "" {
		text = append([]string{name}, text...)
	}
	id := a.ids.New("a_", name)
	into.Nodes = append(into.Nodes, drawing.Node{ID: id, Text: text})
	return place{id, id, id}
}

// text returns the lines that are written below the name of an agent.
func (a *artist) text(l *layers) []string {
	text := []string{l.typ}
	if a.options.tools {
		text = append(text, listed("tools", a.toolNames(l))...)
	}
	if a.options.middlewares {
		var names []string
		for _, m := range l.parts.Middlewares {
			names = append(names, middlewareName(m))
		}
		text = append(text, listed("middlewares", names)...)
	}
	return text
}

// listed is a list in lines of a few names.
func listed(what string, names []string) (lines []string) {
	const inLine = 4
	for part := range slices.Chunk(names, inLine) {
		lines = append(lines, strings.Join(part, ", "))
	}
	if len(lines) > 0 {
		lines[0] = what + " " + lines[0]
	}
	return lines
}

// frame draws a workflow, or an agent that shows several inside.
func (a *artist) frame(l *layers, members []any, into *drawing.Group, p *place) {
	g := &drawing.Group{ID: p.id, Text: []string{strings.TrimPrefix(a.name(l.core)+", "+l.typ, ", ")}}
	into.Groups = append(into.Groups, g)
	if l.parts.Kind == anatomy.Loop && l.parts.Rounds > 0 {
		g.Text[0] += fmt.Sprintf(", at most %d rounds", l.parts.Rounds)
	}
	places := make([]place, len(members))
	for i, m := range members {
		places[i] = a.agent(m, g, nil)
	}
	last := len(places) - 1
	if l.parts.Kind == anatomy.Sequential || l.parts.Kind == anatomy.Loop {
		for i := range last {
			a.arrow(places[i], places[i+1], drawing.Solid)
		}
	}
	// A frame around itself cannot have an arrow to itself: the frame of the loop says what it is.
	if l.parts.Kind == anatomy.Loop && (last > 0 || places[0].id == places[0].first) {
		a.arrow(places[last], places[0], drawing.Solid, "again")
	}
	p.first, p.last = places[0].first, places[last].last
	g.First, g.Last = p.first, p.last
}

func (a *artist) arrow(from, to place, line drawing.Line, text ...string) *drawing.Edge {
	a.top.Edges = append(a.top.Edges, drawing.Edge{From: from.id, To: to.id, Line: line, Text: text})
	return &a.top.Edges[len(a.top.Edges)-1]
}

// subAgents draws those that the agent can hand the run over to, and returns their places by name.
func (a *artist) subAgents(l *layers, agent any, p place, into *drawing.Group) map[string]place {
	places := map[string]place{}
	for _, sub := range l.subAgents {
		to := a.agent(sub, into, &parent{p, a.name(agent)})
		a.arrow(p, to, drawing.Solid, "transfer").Both = a.unwrap(sub).toParent
		places[a.name(sub)] = to
	}
	return places
}

// successors draws where the run goes when the agent has ended, whatever it answered. Others than its sub-agents and
// its parent cannot be reached.
func (a *artist) successors(l *layers, p place, into *drawing.Group, subs map[string]place, above *parent) {
	for _, name := range l.then {
		to, found := subs[name]
		switch {
		case found:
		case above != nil && above.name == name && !l.sealed:
			to = above.place
		default:
			to = a.box(into, name, "not found, the transfer fails")
		}
		a.arrow(p, to, drawing.Thick, "then")
	}
}

// tools draws the agents that are tools of an agent.
func (a *artist) tools(l *layers, p place, into *drawing.Group) {
	for _, t := range allTools(l) {
		for _, inside := range agentsOfTool(t) {
			to := a.agentTool(inside, into)
			text := "tool"
			if name := a.toolName(t); name != a.name(inside) && name != typeName(t) {
				text += " " + name
			}
			a.arrow(p, to, drawing.Dotted, text)
		}
	}
}

// agentTool draws an agent that is a tool. If it is the tool of several, it is drawn once.
func (a *artist) agentTool(agent any, into *drawing.Group) place {
	key, known := identity(a.unwrap(agent).core)
	if p, again := a.asTools[key]; known && again {
		return p
	}
	p := a.agent(agent, into, nil)
	if known {
		a.asTools[key] = p
	}
	return p
}

// allTools are the tools of the configuration, and those that middlewares show.
func allTools(l *layers) []tool.BaseTool {
	all := slices.Clip(l.parts.Tools)
	for _, m := range l.parts.Middlewares {
		if shows, ok := m.(interface{ ToolsInside() []tool.BaseTool }); ok {
			all = append(all, shows.ToolsInside()...)
		}
	}
	return all
}

func (a *artist) toolNames(l *layers) (names []string) {
	for _, t := range allTools(l) {
		names = append(names, a.toolName(t))
	}
	return names
}

// agentsOfTool are the agents that a call of the tool runs.
func agentsOfTool(t any) []any {
	if p := anatomy.Of(t); p.Kind == anatomy.Wrapper {
		return []any{p.Inside}
	}
	return agentsInside(t)
}

// agentsInside are the agents that a value of unknown type shows.
func agentsInside(v any) (agents []any) {
	defer func() { _ = recover() }() // a nil pointer, for example
	switch shows := v.(type) {
	case interface{ AgentsInside() []adk.Agent }:
		for _, agent := range shows.AgentsInside() {
			agents = append(agents, agent)
		}
	case interface {
		AgentsInside() []adk.TypedAgent[*schema.AgenticMessage]
	}:
		for _, agent := range shows.AgentsInside() {
			agents = append(agents, agent)
		}
	}
	return agents
}

// name asks an agent for its name. It is "" if there is none to be had.
func (a *artist) name(agent any) (name string) {
	defer func() { _ = recover() }()
	if named, ok := agent.(interface{ Name(context.Context) string }); ok {
		return named.Name(a.ctx)
	}
	return ""
}

// toolName is the type of the tool if its info cannot be had.
func (a *artist) toolName(t tool.BaseTool) string {
	if info := a.toolInfo(t); info != nil {
		return info.Name
	}
	return typeName(t)
}

// toolInfo asks a tool what it is. It is nil if there is nothing to be had, or no name.
func (a *artist) toolInfo(t tool.BaseTool) *schema.ToolInfo {
	info, err := func() (info *schema.ToolInfo, err error) {
		defer safe.Recover(&err)
		return t.Info(a.ctx)
	}()
	if err != nil || info == nil || info.Name == "" {
		return nil
	}
	return info
}

// typeName returns the type that a component reports, or else the name of its Go type.
func typeName(v any) string {
	typ := func() (typ string) {
		defer func() { _ = recover() }()
		typ, _ = components.GetType(v)
		return typ
	}()
	if typ != "" {
		return typ
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*")
}

// middlewareName returns the package of a middleware whose type is not exported, as in the library, or else its type.
func middlewareName(m any) string {
	if _, ok := m.(adk.AgentMiddleware); ok {
		return "AgentMiddleware"
	}
	name, _, _ := strings.Cut(typeName(m), "[") // without type parameters
	pkg, typ, qualified := strings.Cut(name, ".")
	if qualified && typ != "" && strings.ToLower(typ[:1]) == typ[:1] && pkg != "main" {
		return pkg
	}
	return name
}
