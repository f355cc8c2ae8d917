package jsonschemacheck

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

// links holds the targets of references in a schema.
type links struct {
	all  []*jsonschema.Schema
	seen map[*jsonschema.Schema]bool
	// resources are the schemas with an $id, and the whole, by their URI; anchors are those with a name, by URI and name.
	// An anchor that there is twice is nil.
	resources, anchors map[string]*jsonschema.Schema
	references         []link
}

// link is a reference and what it is relative to.
type link struct {
	from *jsonschema.Schema
	base *url.URL
}

func newLinks() *links {
	return &links{
		seen:      map[*jsonschema.Schema]bool{},
		resources: map[string]*jsonschema.Schema{},
		anchors:   map[string]*jsonschema.Schema{},
	}
}

func (l *links) visit(s *jsonschema.Schema, base *url.URL) {
	if s == nil || l.seen[s] {
		return
	}
	l.seen[s] = true
	l.all = append(l.all, s)
	if id, err := url.Parse(string(s.ID)); err == nil && s.ID != "" {
		base = base.ResolveReference(id)
	}
	if uri := document(base); len(l.all) == 1 || s.ID != "" {
		l.resources[uri] = s
	}
	dynamic, _ := s.Extras["$dynamicAnchor"].(string)
	for _, name := range []string{s.Anchor, dynamic} {
		l.addAnchor(document(base)+"#"+name, s, name)
	}
	if s.Ref != "" {
		l.references = append(l.references, link{s, base})
	}
	eachSubschema(s, func(sub *jsonschema.Schema) { l.visit(sub, base) })
}

func (l *links) addAnchor(uri string, s *jsonschema.Schema, name string) {
	if name == "" {
		return
	}
	if other, twice := l.anchors[uri]; twice && other != s {
		s = nil
	}
	l.anchors[uri] = s
}

// document is a URI without its fragment.
func document(uri *url.URL) string {
	u := *uri
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// resolve finds the schema of a reference. It is nil if that is not in the schema.
func (l *links) resolve(ref string, base *url.URL) *jsonschema.Schema {
	uri, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	uri = base.ResolveReference(uri)
	resource := l.resources[document(uri)]
	switch {
	case resource == nil || uri.Fragment == "":
		return resource
	case !strings.HasPrefix(uri.Fragment, "/"):
		return l.anchors[document(uri)+"#"+uri.Fragment]
	}
	steps := strings.Split(uri.Fragment[1:], "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	target := follow(resource, steps)
	l.visit(target, base) // one that was in the Extras
	return target
}

// follow walks a JSON pointer.
func follow(s *jsonschema.Schema, steps []string) *jsonschema.Schema {
	for len(steps) > 0 && s != nil {
		keyword := steps[0]
		if extra, ok := s.Extras[keyword]; ok {
			return inExtra(extra, steps[1:])
		}
		if steps = steps[1:]; len(steps) > 0 {
			if sub, ok := namedIn(s, keyword, steps[0]); ok {
				s, steps = sub, steps[1:]
				continue
			}
		}
		s = singleIn(s, keyword)
	}
	return s
}

// inExtra makes a schema of what a pointer leads to in a keyword that has no field.
func inExtra(v any, steps []string) *jsonschema.Schema {
	for _, step := range steps {
		switch holder := v.(type) {
		case map[string]any:
			v = holder[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return nil
			}
			v = holder[i]
		default:
			return nil
		}
	}
	doc, err := json.Marshal(v)
	s := new(jsonschema.Schema)
	if err != nil || v == nil || json.Unmarshal(doc, s) != nil {
		return nil
	}
	return s
}

// namedIn finds a schema in a keyword that holds several.
func namedIn(s *jsonschema.Schema, keyword, name string) (*jsonschema.Schema, bool) {
	lists := map[string][]*jsonschema.Schema{
		"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf, "prefixItems": s.PrefixItems,
	}
	if list, ok := lists[keyword]; ok {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(list) {
			return nil, true
		}
		return list[i], true
	}
	switch keyword {
	case "$defs", "definitions":
		return s.Definitions[name], true
	case "properties":
		sub, _ := propertyOf(s, name)
		return sub, true
	case "patternProperties":
		return s.PatternProperties[name], true
	case "dependentSchemas":
		return s.DependentSchemas[name], true
	}
	return nil, false
}

func singleIn(s *jsonschema.Schema, keyword string) *jsonschema.Schema {
	switch keyword {
	case "not":
		return s.Not
	case "if":
		return s.If
	case "then":
		return s.Then
	case "else":
		return s.Else
	case "items":
		return s.Items
	case "contains":
		return s.Contains
	case "additionalProperties":
		return s.AdditionalProperties
	case "propertyNames":
		return s.PropertyNames
	}
	return nil
}
