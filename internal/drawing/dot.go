package drawing

import "strings"

// DOT returns the picture in the language of Graphviz.
func (p *Picture) DOT() string {
	w := dotWriter{groups: map[string]*Group{}}
	w.collect(&p.Group)
	w.line(0, "digraph {")
	w.line(1, "compound=true")
	if p.Rightwards {
		w.line(1, "rankdir=LR")
	}
	w.line(1, `node [shape=box, fontname="sans-serif"]`)
	w.line(1, `edge [fontname="sans-serif"]`)
	w.inside(&p.Group, 1)
	w.line(0, "}")
	return w.String()
}

type dotWriter struct {
	strings.Builder
	groups map[string]*Group
}

func (w *dotWriter) collect(g *Group) {
	w.groups[g.ID] = g
	for _, sub := range g.Groups {
		w.collect(sub)
	}
}

func (w *dotWriter) line(depth int, parts ...string) {
	w.WriteString(strings.Repeat("\t", depth))
	for _, part := range parts {
		w.WriteString(part)
	}
	w.WriteByte('\n')
}

var (
	dotShapes = [...]string{Round: ", shape=oval", Diamond: ", shape=diamond", Pill: ", style=rounded", Box: ""}
	dotLines  = [...]string{Dotted: "style=dashed", Thick: "style=bold", Solid: ""}
)

func (w *dotWriter) inside(g *Group, depth int) {
	for _, n := range g.Nodes {
		w.line(depth, n.ID, " [label=", dotText(n.Text), dotShapes[n.Shape], "]")
	}
	for _, sub := range g.Groups {
		w.line(depth, "subgraph cluster_", sub.ID, " {")
		w.line(depth+1, "label=", dotText(sub.Text))
		w.inside(sub, depth+1)
		w.line(depth, "}")
	}
	for _, e := range g.Edges {
		w.edge(&e, depth)
	}
}

func (w *dotWriter) edge(e *Edge, depth int) {
	var attributes []string
	from, to := e.From, e.To
	if g := w.groups[from]; g != nil {
		from = g.Last
		attributes = append(attributes, "ltail=cluster_"+g.ID)
	}
	if g := w.groups[to]; g != nil {
		to = g.First
		attributes = append(attributes, "lhead=cluster_"+g.ID)
	}
	if len(e.Text) > 0 {
		attributes = append(attributes, "label="+dotText(e.Text))
	}
	if e.Line != Solid {
		attributes = append(attributes, dotLines[e.Line])
	}
	if e.Both {
		attributes = append(attributes, "dir=both")
	}
	if len(attributes) == 0 {
		w.line(depth, from, " -> ", to)
		return
	}
	w.line(depth, from, " -> ", to, " [", strings.Join(attributes, ", "), "]")
}

var dotQuoted = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "&", "&amp;")

// dotText is the text in quotes.
func dotText(lines []string) string {
	texts := eachLine(lines)
	for i, text := range texts {
		texts[i] = dotQuoted.Replace(text)
	}
	return `"` + strings.Join(texts, `\n`) + `"`
}
