package schemaimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxSize and maxDepth bound what a schema of another author may cost.
	maxSize  = 1 << 20
	maxDepth = 128
)

// node is one JSON value of a schema document, with its members and elements in their order. A node is a schema only
// where a keyword makes it one.
type node struct {
	kind    kind
	scalar  any // string, json.Number, bool or nil
	members []member
	elems   []*node

	// wasMembers and wasElems are what the document had before it was normalised; references are written for those.
	wasMembers []member
	wasElems   []*node
	index      map[string]*node // of wasMembers, for large objects
	// parent and step say where the node is now.
	parent *node
	step   string
	// resource is the schema with the $id that references without one are relative to.
	resource *node
}

type kind uint8

const (
	isScalar kind = iota
	isObject
	isArray
)

type member struct {
	name  string
	value *node
}

// parse reads one JSON value. Of members with the same name the last one counts.
func parse(text []byte) (*node, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), maxSize)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := parseValue(d, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more after the JSON value, at byte %d", d.InputOffset())
	}
	return n, nil
}

func parseValue(d *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return parseObject(d, depth)
	case json.Delim('['):
		return parseArray(d, depth)
	}
	return &node{scalar: token}, nil
}

func parseObject(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: isObject}
	at := map[string]int{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		value, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if i, again := at[name]; again {
			n.members[i].value = value
			continue
		}
		at[name] = len(n.members)
		n.members = append(n.members, member{name, value})
	}
	_, err := d.Token()
	n.wasMembers = n.members
	if len(at) > 8 {
		n.index = make(map[string]*node, len(at))
		for _, m := range n.members {
			n.index[m.name] = m.value
		}
	}
	return n, err
}

func parseArray(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: isArray}
	for d.More() {
		value, err := parseValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.elems = append(n.elems, value)
	}
	_, err := d.Token()
	n.wasElems = n.elems
	return n, err
}

func newObject(members ...member) *node { return &node{kind: isObject, members: members} }

func newArray(elems ...*node) *node { return &node{kind: isArray, elems: elems} }

// was finds a member that the document had.
func (n *node) was(name string) *node {
	if n.index != nil {
		return n.index[name]
	}
	for _, m := range n.wasMembers {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// get finds a member, nil if there is none.
func (n *node) get(name string) *node {
	if n == nil || n.kind != isObject {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set puts a member in the place of the one with its name, or at the end. The document's own list stays as it was.
func (n *node) set(name string, value *node) {
	changed := append([]member(nil), n.members...)
	for i := range changed {
		if changed[i].name == name {
			changed[i].value = value
			n.members = changed
			return
		}
	}
	n.members = append(changed, member{name, value})
}

// remove takes a member out, and returns it.
func (n *node) remove(name string) *node {
	for i, m := range n.members {
		if m.name == name {
			n.members = append(append([]member(nil), n.members[:i]...), n.members[i+1:]...)
			return m.value
		}
	}
	return nil
}

// rename gives a member another name, at its place.
func (n *node) rename(from, to string) {
	changed := append([]member(nil), n.members...)
	for i := range changed {
		if changed[i].name == from {
			changed[i].name = to
		}
	}
	n.members = changed
}

func (n *node) text() (string, bool) {
	if n == nil {
		return "", false
	}
	s, ok := n.scalar.(string)
	return s, ok && n.kind == isScalar
}

func (n *node) is(value any) bool { return n != nil && n.kind == isScalar && n.scalar == value }

// isSchema reports whether the value can be a schema.
func (n *node) isSchema() bool {
	if n == nil {
		return false
	}
	_, boolean := n.scalar.(bool)
	return n.kind == isObject || n.kind == isScalar && boolean
}

// strings are the elements of a list of texts; ok is false if it is another thing.
func (n *node) strings() (all []string, ok bool) {
	if n == nil || n.kind != isArray {
		return nil, false
	}
	all = make([]string, 0, len(n.elems))
	for _, e := range n.elems {
		s, isText := e.text()
		if !isText {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

// value is the node as encoding/json would decode it, with numbers as json.Number.
func (n *node) value() any {
	switch n.kind {
	case isObject:
		v := make(map[string]any, len(n.members))
		for _, m := range n.members {
			v[m.name] = m.value.value()
		}
		return v
	case isArray:
		v := make([]any, 0, len(n.elems))
		for _, e := range n.elems {
			v = append(v, e.value())
		}
		return v
	}
	return n.scalar
}

// write encodes the node, with everything in its order.
func (n *node) write(b *bytes.Buffer) {
	switch n.kind {
	case isObject:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeScalar(b, m.name)
			b.WriteByte(':')
			m.value.write(b)
		}
		b.WriteByte('}')
	case isArray:
		b.WriteByte('[')
		for i, e := range n.elems {
			if i > 0 {
				b.WriteByte(',')
			}
			e.write(b)
		}
		b.WriteByte(']')
	default:
		writeScalar(b, n.scalar)
	}
}

func writeScalar(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if e.Encode(v) == nil {
		b.Truncate(b.Len() - 1) // the newline
	}
}
