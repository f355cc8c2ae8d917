package compose

import (
	"fmt"
	"strings"
)

// FieldPath leads to a field of a nested value: each element is the name of an exported struct field or a map key.
// Pointers on the way are followed.
type FieldPath []string

// pathSeparator joins the elements of a path: a character that no field name or sensible map key has.
const pathSeparator = "\x1F"

func (p FieldPath) join() string { return strings.Join(p, pathSeparator) }

func splitPath(joined string) FieldPath {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, pathSeparator)
}

// FieldMapping says which part of a predecessor's output becomes which part of a workflow node's input. It is
// immutable.
type FieldMapping struct {
	fromNodeKey string
	from, to    string // joined paths, "" for the whole value
	extractor   func(input any) (any, error)
}

// String describes the mapping. A path is printed in its joined form.
func (m *FieldMapping) String() string {
	var sb strings.Builder
	sb.WriteString("[from ")
	if m.from != "" {
		sb.WriteString(m.from)
		sb.WriteString("(field) of ")
	}
	sb.WriteString(m.fromNodeKey)
	if m.to != "" {
		sb.WriteString(" to ")
		sb.WriteString(m.to)
		sb.WriteString("(field)")
	}
	sb.WriteString("]")
	return sb.String()
}

// FromNodeKey returns the key of the predecessor, "" before the mapping was added to a node.
func (m *FieldMapping) FromNodeKey() string { return m.fromNodeKey }

// FromPath returns the source path, nil for the whole output.
func (m *FieldMapping) FromPath() FieldPath { return splitPath(m.from) }

// ToPath returns the target path, nil for the whole input.
func (m *FieldMapping) ToPath() FieldPath { return splitPath(m.to) }

// Equals reports whether both mappings are the same. A mapping with a custom extractor equals none.
func (m *FieldMapping) Equals(o *FieldMapping) bool {
	if m == nil || o == nil {
		return m == o
	}
	return m.extractor == nil && o.extractor == nil &&
		m.fromNodeKey == o.fromNodeKey && m.from == o.from && m.to == o.to
}

// FieldMappingOption configures a [FieldMapping].
type FieldMappingOption func(*FieldMapping)

// WithCustomExtractor computes the mapped value from the predecessor's whole output instead of a field of it. In a
// run of streams it is called for each chunk. What it returns is checked against the target at run time only.
func WithCustomExtractor(extractor func(input any) (any, error)) FieldMappingOption {
	return func(m *FieldMapping) { m.extractor = extractor }
}

// FromField maps a field of the predecessor's output to the whole input.
func FromField(from string) *FieldMapping { return &FieldMapping{from: from} }

// ToField maps the predecessor's whole output to a field of the input. The input must be a struct, a map, or any, which
// becomes a map[string]any.
func ToField(to string, opts ...FieldMappingOption) *FieldMapping {
	return newMapping("", to, opts)
}

// MapFields maps a field of the predecessor's output to a field of the input.
func MapFields(from, to string) *FieldMapping { return &FieldMapping{from: from, to: to} }

// FromFieldPath is [FromField] for a nested field.
func FromFieldPath(fromFieldPath FieldPath) *FieldMapping {
	return &FieldMapping{from: fromFieldPath.join()}
}

// ToFieldPath is [ToField] for a nested field.
func ToFieldPath(toFieldPath FieldPath, opts ...FieldMappingOption) *FieldMapping {
	return newMapping("", toFieldPath.join(), opts)
}

// MapFieldPaths is [MapFields] for nested fields.
func MapFieldPaths(fromFieldPath, toFieldPath FieldPath) *FieldMapping {
	return &FieldMapping{from: fromFieldPath.join(), to: toFieldPath.join()}
}

func newMapping(from, to string, opts []FieldMappingOption) *FieldMapping {
	m := &FieldMapping{from: from, to: to}
	for _, opt := range opts {
		if opt != nil {
			opt(m)
		}
	}
	return m
}

// of returns a copy of the mapping for a predecessor: the caller's value may be used for several.
func (m *FieldMapping) of(fromNodeKey string) (*FieldMapping, error) {
	if m == nil {
		return nil, fmt.Errorf("field mapping from node '%s' is nil", fromNodeKey)
	}
	c := *m
	c.fromNodeKey = fromNodeKey
	return &c, nil
}

// pathSet holds the target paths of a node that are taken, to find overlaps: the map of a path element leads to what
// is taken below it, an element mapped as a whole leads to nil.
type pathSet map[string]pathSet

// take adds a path. It returns the part of it that was taken as a whole before, or the path itself if something
// below it was.
func (s pathSet) take(path FieldPath) (conflict FieldPath) {
	for i, elem := range path {
		below, taken := s[elem]
		last := i == len(path)-1
		switch {
		case taken && (below == nil || last):
			return path[:i+1]
		case last:
			s[elem] = nil
		case !taken:
			below = pathSet{}
			s[elem] = below
		}
		s = below
	}
	return nil
}
