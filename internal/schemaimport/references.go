package schemaimport

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// place notes where every value is now.
func (d *document) place(n *node) {
	for _, m := range n.members {
		m.value.parent, m.value.step = n, m.name
		d.place(m.value)
	}
	for i, e := range n.elems {
		e.parent, e.step = n, strconv.Itoa(i)
		d.place(e)
	}
}

// rewriteReferences has the JSON pointers of references lead to where the values are now. Others stay as they are: to
// anchors, to other documents, to nothing.
func (d *document) rewriteReferences() {
	for _, ref := range d.references {
		text, ok := ref.text.text()
		if !ok {
			continue
		}
		uri, fragment, _ := strings.Cut(text, "#")
		resource := ref.schema.resource
		if uri != "" {
			resource = d.ids[uri]
		}
		if resource == nil || !strings.HasPrefix(fragment, "/") {
			continue
		}
		steps := stepsOf(fragment)
		target := follow(resource, steps)
		if target == nil {
			continue
		}
		if now, ok := way(resource, target); ok && !slices.Equal(now, steps) {
			ref.text.scalar = uri + "#" + pointer(now)
			d.changed = true
		}
	}
}

// stepsOf reads a JSON pointer in a URI fragment.
func stepsOf(fragment string) []string {
	steps := strings.Split(fragment[1:], "/")
	for i, step := range steps {
		if decoded, err := url.PathUnescape(step); err == nil {
			step = decoded
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps
}

// pointer writes what stepsOf reads.
func pointer(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
		b.WriteString("/" + (&url.URL{Path: step}).EscapedPath())
	}
	return b.String()
}

// follow finds the value that a pointer led to in the document as it was.
func follow(n *node, steps []string) *node {
	for _, step := range steps {
		switch n.kind {
		case isObject:
			n = n.was(step)
		case isArray:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.wasElems) {
				return nil
			}
			n = n.wasElems[i]
		default:
			return nil
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// way returns the steps from a resource to a value in it now; ok is false if it is not there any more.
func way(resource, target *node) (steps []string, ok bool) {
	for n := target; n != resource; n = n.parent {
		if n.parent == nil {
			return nil, false
		}
		steps = append(steps, n.step)
	}
	slices.Reverse(steps)
	return steps, true
}
