package jsonschemacheck

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

// resolve finds what a reference names inside the schema: the schema itself, an anchor, an $id, or a JSON pointer. It is
// nil for any other.
func (c *Checker) resolve(ref string) *jsonschema.Schema {
	if ref == "" {
		return nil
	}
	if ref == "#" {
		return c.root
	}
	if s := c.anchors[ref]; s != nil {
		return s
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	return follow(c.root, strings.Split(pointer, "/"))
}

// follow walks a JSON pointer through the keywords that hold schemas.
func follow(s *jsonschema.Schema, steps []string) *jsonschema.Schema {
	for len(steps) > 0 && s != nil {
		keyword := unescape(steps[0])
		if steps = steps[1:]; len(steps) > 0 {
			if sub, ok := namedIn(s, keyword, unescape(steps[0])); ok {
				s, steps = sub, steps[1:]
				continue
			}
		}
		s = singleIn(s, keyword)
	}
	return s
}

// namedIn finds a schema in a keyword that holds several.
func namedIn(s *jsonschema.Schema, keyword, name string) (*jsonschema.Schema, bool) {
	lists := map[string][]*jsonschema.Schema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf, "prefixItems": s.PrefixItems}
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

// unescape reads one step of a JSON pointer in a URI fragment.
func unescape(step string) string {
	if decoded, err := url.PathUnescape(step); err == nil {
		step = decoded
	}
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}
