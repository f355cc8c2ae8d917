package format

import (
	"errors"
	"fmt"
	"strings"
	texttemplate "text/template"
	"text/template/parse"
)

// maxSteps is the number of times that a Go template may write, counting each round of a loop and each nested template.
const maxSteps = 500_000

var (
	errTooLong     = errors.New("rendered template is too long")
	errTooMuchWork = errors.New("template takes too many steps")
)

// goTemplate is a text/template that is watched while it runs.
type goTemplate struct {
	t *texttemplate.Template
}

// boundedFuncs are the built-in functions that make text, without the ability to make more and more of it.
func boundedFuncs(limit int) texttemplate.FuncMap {
	check := func(text string) (string, error) {
		if len(text) > limit {
			return "", errTooLong
		}
		return text, nil
	}
	bounded := func(f func(...any) string) func(...any) (string, error) {
		return func(args ...any) (string, error) { return check(f(args...)) }
	}
	return texttemplate.FuncMap{
		"html":     bounded(texttemplate.HTMLEscaper),
		"js":       bounded(texttemplate.JSEscaper),
		"urlquery": bounded(texttemplate.URLQueryEscaper),
		"print":    bounded(fmt.Sprint),
		"println":  bounded(fmt.Sprintln),
		"printf": func(format string, args ...any) (string, error) {
			return check(fmt.Sprintf(format, args...))
		},
	}
}

// compileGo parses a template whose functions make texts of at most limit bytes each.
func compileGo(text string, limit int) (Template, error) {
	t, err := texttemplate.New("template").Option("missingkey=error").Funcs(boundedFuncs(limit)).Parse(text)
	if err != nil {
		return nil, err
	}
	for _, nested := range t.Templates() {
		if nested.Tree != nil {
			watch(nested.Root)
		}
	}
	return &goTemplate{t}, nil
}

// watch puts an empty text at the beginning of every loop and template. The engine writes it each time round, so that
// the writer can count.
func watch(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.RangeNode:
			watch(n.List)
			watch(n.ElseList)
		case *parse.IfNode:
			watch(n.List)
			watch(n.ElseList)
		case *parse.WithNode:
			watch(n.List)
			watch(n.ElseList)
		}
	}
	list.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText, Text: []byte{}}}, list.Nodes...)
}

func (t *goTemplate) Execute(vars map[string]any, limit int) (string, error) {
	w := &countingWriter{left: limit}
	if err := t.t.Execute(w, vars); err != nil {
		return "", err
	}
	return w.b.String(), nil
}

// countingWriter fails when it is called too often or given too much.
type countingWriter struct {
	b     strings.Builder
	left  int
	steps int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if w.steps++; w.steps > maxSteps {
		return 0, errTooMuchWork
	}
	if len(p) > w.left {
		return 0, errTooLong
	}
	w.left -= len(p)
	return w.b.Write(p)
}
