package fstring

import (
	"fmt"
	"strings"
)

const bracesHint = "literal braces, as in JSON, must be doubled: {{ }}"

// field is a replacement field.
type field struct {
	name   string   // the variable; empty for the map of all variables
	path   []string // what to look up in it
	spec   spec
	err    error // of the spec; that the name is not found comes first, and a Formatter may understand it
	offset int   // of the field in the template
}

// parseField parses what stands between the braces.
func parseField(text string, offset int, n *numbering) (*field, error) {
	f := &field{offset: offset}
	name, spec, _ := strings.Cut(text, ":")
	f.spec, f.err = parseSpec(spec)
	parts, err := splitName(name)
	if err != nil {
		return nil, err
	}
	f.name, f.path = parts[0], parts[1:]
	position := -1
	switch {
	case f.name == "":
		position, err = n.next()
	case isNumber(f.name):
		position, err = n.given(f.name)
	}
	if err != nil {
		return nil, err
	}
	if position > 0 {
		return nil, fmt.Errorf("index out of bounds: %d", position) // the variables are the only argument
	}
	if position == 0 {
		f.name = ""
	}
	return f, nil
}

// splitName splits a compound name, such as "a.b[0]", into its keys.
func splitName(name string) ([]string, error) {
	end := keyEnd(name)
	parts := []string{name[:end]}
	for rest := name[end:]; rest != ""; rest = rest[end:] {
		if rest[0] == '.' {
			end = 1 + keyEnd(rest[1:])
			parts = append(parts, rest[1:end])
			continue
		}
		bracket := strings.IndexByte(rest, ']')
		if rest[0] != '[' || bracket < 0 {
			return nil, fmt.Errorf("malformed field name: %s (%s)", name, bracesHint)
		}
		parts = append(parts, strings.Split(rest[1:bracket], ".")...)
		end = bracket + 1
	}
	return parts, nil
}

func keyEnd(s string) int {
	if i := strings.IndexAny(s, ".["); i >= 0 {
		return i
	}
	return len(s)
}

func (f *field) render(b *strings.Builder, vars map[string]any) error {
	v, err := f.find(vars)
	if err != nil {
		return err
	}
	if formatter, ok := v.(Formatter); ok {
		text, err := formatItself(formatter, f.spec.text)
		b.WriteString(text)
		return err
	}
	if f.err != nil {
		return f.err
	}
	return f.spec.append(b, v)
}

// find looks up the value.
func (f *field) find(vars map[string]any) (any, error) {
	var v any = vars
	if f.name != "" {
		var ok bool
		if v, ok = vars[f.name]; !ok {
			return nil, f.notFound()
		}
	}
	if len(f.path) == 0 {
		return v, nil
	}
	return lookup(v, f.path)
}

func (f *field) notFound() error {
	text := "could not find key: " + f.name
	if !isIdentifier(f.name) {
		text = fmt.Sprintf("%s (offset %d; %s)", text, f.offset, bracesHint)
	}
	return &missingKeyError{key: f.name, text: text}
}

// missingKeyError is the error of a template that needs a variable which was not given.
type missingKeyError struct{ key, text string }

func (e *missingKeyError) Error() string { return e.text }

// MissingKey is the name of the variable. A caller that knows where it should have come from finds it with errors.As.
func (e *missingKeyError) MissingKey() string { return e.key }

// isIdentifier reports whether s looks like the name of a variable, as opposed to text that was not meant to be one.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
