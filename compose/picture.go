package compose

import (
	"slices"
	"strings"

	"github.com/weftgo/weft/internal/drawing"
)

// Mermaid draws the graph as a Mermaid flowchart (https://mermaid.js.org), which GitHub and many editors show in a
// fenced block of the language mermaid. The same graph gives the same text.
//
// A solid arrow is an edge: the node waits for the other and takes its output. A dotted one is a dependency without
// data, a thick one takes data without waiting. A diamond is a branch, with arrows to the nodes that it may choose.
// Field mappings are written on the arrows. Nested graphs are framed.
func (gi *GraphInfo) Mermaid() string { return gi.draw().Mermaid() }

// DOT draws the graph in the language of Graphviz: as [GraphInfo.Mermaid] does, with dashed lines as the dotted ones
// and bold lines as the thick ones.
func (gi *GraphInfo) DOT() string { return gi.draw().DOT() }

func (gi *GraphInfo) draw() *drawing.Picture {
	p := &drawing.Picture{}
	a := &artist{ids: &drawing.IDs{}}
	a.draw(gi, &p.Group, "")
	return p
}

// artist draws a graph into a group.
type artist struct {
	ids *drawing.IDs
	// own are the IDs of the nodes of the graph that is drawn, by their keys; what follows is the graph's, too.
	own    map[string]string
	info   *GraphInfo
	group  *drawing.Group
	prefix string
}

func (a *artist) draw(info *GraphInfo, into *drawing.Group, prefix string) {
	inner := &artist{ids: a.ids, own: map[string]string{}, info: info, group: into, prefix: prefix + "_"}
	keys := info.keysInOrder()
	for _, key := range keys {
		inner.own[key] = a.ids.New("n"+inner.prefix, key)
	}
	into.First, into.Last = inner.own[START], inner.own[END]
	for _, key := range keys {
		inner.node(key)
	}
	for _, key := range keys {
		inner.edges(key)
		inner.branches(key)
	}
}

// keysInOrder are the keys of all nodes: from START on in the order in which a run may reach them, which the order of
// maps does not change, and then what no edge leads to.
func (gi *GraphInfo) keysInOrder() []string {
	keys, seen := []string{START}, map[string]bool{START: true, END: true}
	reach := func(more []string) {
		for _, key := range more {
			if _, exists := gi.Nodes[key]; exists && !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	from := func(i int) {
		for ; i < len(keys); i++ {
			reach(gi.Edges[keys[i]])
			reach(gi.DataEdges[keys[i]])
			for _, b := range gi.Branches[keys[i]] {
				reach(sortedKeys(b.endNodes))
			}
		}
	}
	from(0)
	for _, key := range sortedKeys(gi.Nodes) {
		n := len(keys)
		reach([]string{key})
		from(n)
	}
	return append(keys, END)
}

func (a *artist) node(key string) {
	switch key {
	case START, END:
		a.box(key, drawing.Round, strings.ToUpper(key))
		return
	}
	n := a.info.Nodes[key]
	text := []string{key}
	if n.Component != "" {
		text = append(text, string(n.Component))
	}
	if n.Name != "" && n.Name != key {
		text = append(text, "named "+n.Name)
	}
	if n.InputKey != "" {
		text = append(text, "input key "+n.InputKey)
	}
	if n.OutputKey != "" {
		text = append(text, "output key "+n.OutputKey)
	}
	switch {
	case n.GraphInfo != nil:
		g := &drawing.Group{ID: a.own[key], Text: []string{strings.Join(text, ", ")}}
		a.group.Groups = append(a.group.Groups, g)
		a.draw(n.GraphInfo, g, strings.TrimPrefix(a.own[key], "n"))
	case n.Component == ComponentOfPassthrough:
		a.box(key, drawing.Pill, text...)
	default:
		a.box(key, drawing.Box, text...)
	}
}

func (a *artist) box(key string, shape drawing.Shape, text ...string) {
	a.group.Nodes = append(a.group.Nodes, drawing.Node{ID: a.own[key], Text: text, Shape: shape})
}

func (a *artist) arrow(e drawing.Edge) { a.group.Edges = append(a.group.Edges, e) }

func (a *artist) edges(key string) {
	control, data := a.info.Edges[key], a.info.DataEdges[key]
	targets := slices.Clone(control)
	for _, to := range data {
		if !slices.Contains(targets, to) {
			targets = append(targets, to)
		}
	}
	for _, to := range targets {
		if a.own[to] == "" {
			continue // a node without a description
		}
		e := drawing.Edge{From: a.own[key], To: a.own[to], Text: a.mappings(key, to)}
		switch {
		case !slices.Contains(data, to):
			e.Line = drawing.Dotted
		case !slices.Contains(control, to):
			e.Line = drawing.Thick
		}
		a.arrow(e)
	}
}

// mappings are the fields that one node takes from another, a line each.
func (a *artist) mappings(from, to string) (lines []string) {
	mappings := a.info.EndMappings
	if to != END {
		mappings = a.info.Nodes[to].Mappings
	}
	for _, m := range mappings {
		if m == nil || m.fromNodeKey != from {
			continue
		}
		source := strings.Join(m.FromPath(), ".")
		if m.extractor != nil {
			source = "func"
		}
		if line := strings.TrimSpace(source + " → " + strings.Join(m.ToPath(), ".")); line != "→" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (a *artist) branches(key string) {
	for _, b := range a.info.Branches[key] {
		id, text, line := a.ids.New("b"+a.prefix, key), "one of", drawing.Solid
		if b.many {
			text = "any of"
		}
		if b.noData {
			line = drawing.Dotted
		}
		a.group.Nodes = append(a.group.Nodes, drawing.Node{ID: id, Text: []string{text}, Shape: drawing.Diamond})
		a.arrow(drawing.Edge{From: a.own[key], To: id})
		for _, to := range sortedKeys(b.endNodes) {
			if a.own[to] != "" {
				a.arrow(drawing.Edge{From: id, To: a.own[to], Text: b.nameOf(to), Line: line})
			}
		}
	}
}

// nameOf returns the condition's name of a node, if that is not its key.
func (gb *GraphBranch) nameOf(key string) []string {
	for _, name := range sortedKeys(gb.names) {
		if gb.names[name] == key && name != key {
			return []string{name}
		}
	}
	return nil
}
