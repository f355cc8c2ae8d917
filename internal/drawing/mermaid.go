package drawing

import (
	"strconv"
	"strings"
	"unicode"
)

// Mermaid returns the picture as a Mermaid flowchart.
func (p *Picture) Mermaid() string {
	var w mermaidWriter
	if p.Rightwards {
		w.line(0, "flowchart LR")
	} else {
		w.line(0, "flowchart TD")
	}
	w.inside(&p.Group, 1)
	return w.String()
}

type mermaidWriter struct{ strings.Builder }

func (w *mermaidWriter) line(depth int, parts ...string) {
	w.WriteString(strings.Repeat("    ", depth))
	for _, part := range parts {
		w.WriteString(part)
	}
	w.WriteByte('\n')
}

var mermaidShapes = [...]struct{ open, shut string }{
	Box: {"[", "]"}, Round: {"([", "])"}, Diamond: {"{", "}"}, Pill: {"(", ")"},
}

var mermaidLines = [...]struct{ to, both string }{
	Solid: {" --> ", " <--> "}, Dotted: {" -.-> ", " <-.-> "}, Thick: {" ==> ", " <==> "},
}

func (w *mermaidWriter) inside(g *Group, depth int) {
	for _, n := range g.Nodes {
		shape := mermaidShapes[n.Shape]
		w.line(depth, n.ID, shape.open, mermaidText(n.Text), shape.shut)
	}
	for _, sub := range g.Groups {
		w.line(depth, "subgraph ", sub.ID, "[", mermaidText(sub.Text), "]")
		w.inside(sub, depth+1)
		w.line(depth, "end")
	}
	for _, e := range g.Edges {
		arrow := mermaidLines[e.Line].to
		if e.Both {
			arrow = mermaidLines[e.Line].both
		}
		if len(e.Text) > 0 {
			arrow = strings.TrimSuffix(arrow, " ") + "|" + mermaidText(e.Text) + "| "
		}
		w.line(depth, e.From, arrow, e.To)
	}
}

// mermaidText is the text in quotes. Characters that mean something to Mermaid, to the Markdown that it reads in texts,
// or to HTML are written as numbers. A text must not be empty.
func mermaidText(lines []string) string {
	var sb strings.Builder
	sb.WriteByte('"')
	for i, text := range eachLine(lines) {
		if i > 0 {
			sb.WriteString("<br/>")
		}
		listed := listMark(text)
		for j, r := range text {
			if j < listed || !plainInMermaid(r) {
				sb.WriteString("#" + strconv.Itoa(int(r)) + ";")
			} else {
				sb.WriteRune(r)
			}
		}
	}
	if sb.Len() == 1 {
		sb.WriteByte(' ')
	}
	sb.WriteByte('"')
	return sb.String()
}

func plainInMermaid(r rune) bool {
	return isAlphanumeric(r) || strings.ContainsRune(" _-.,()/?'→", r) || r >= 0x80 && unicode.IsLetter(r)
}

// listMark is the length of what makes a text an item of a list in Markdown, of any: "1." or "-".
func listMark(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if rest := text[digits:]; digits > 0 && rest != "" && strings.ContainsRune(".)", rune(rest[0])) {
		return digits + 1
	}
	return len(text) - len(strings.TrimLeft(text, " -_"))
}

// eachLine splits texts that have line breaks, and makes of what cannot be printed a space, or the sign for that.
func eachLine(texts []string) (lines []string) {
	for _, text := range texts {
		text = strings.ToValidUTF8(text, "\uFFFD")
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", " ").Replace(text)
		text = strings.Map(func(r rune) rune {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				return '\uFFFD'
			}
			return r
		}, text)
		lines = append(lines, strings.Split(text, "\n")...)
	}
	return lines
}
