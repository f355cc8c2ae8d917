package jsonschemacheck

import "github.com/eino-contrib/jsonschema"

// ApplyDefaults sets the properties of a decoded value that are left out, or null, and have a default value, and
// reports whether there were any. It looks into objects and the elements of arrays, not into alternatives.
func (c *Checker) ApplyDefaults(value any) bool {
	if !c.defaults {
		return false
	}
	return c.applyDefaults(c.root, value, 0)
}

func (c *Checker) applyDefaults(s *jsonschema.Schema, value any, depth int) (changed bool) {
	if s == nil || depth > maxDepth {
		return false
	}
	if target := c.targets[s]; target != nil {
		changed = c.applyDefaults(target, value, depth+1)
	}
	switch v := value.(type) {
	case map[string]any:
		changed = c.applyToProperties(s, v, depth) || changed
	case []any:
		for _, element := range v {
			changed = c.applyDefaults(s.Items, element, depth+1) || changed
		}
	}
	return changed
}

func (c *Checker) applyToProperties(s *jsonschema.Schema, v map[string]any, depth int) (changed bool) {
	if s.Properties == nil {
		return false
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value == nil {
			continue
		}
		if got, ok := v[p.Key]; ok && (got != nil || accepts(p.Value, "null")) {
			changed = c.applyDefaults(p.Value, got, depth+1) || changed
		} else if d := c.defaultOf(p.Value); d != nil {
			v[p.Key], changed = d, true
		}
	}
	return changed
}

// defaultOf is the default of a property, also of one that is wrapped for null, as the tag "nullable" does it.
func (c *Checker) defaultOf(s *jsonschema.Schema) any {
	if s.Default != nil {
		return s.Default
	}
	if target := c.targets[s]; target != nil && target.Ref == "" {
		return target.Default
	}
	if len(s.OneOf) == 2 && s.OneOf[0] != nil && s.OneOf[1] != nil && s.OneOf[1].Type == "null" {
		return s.OneOf[0].Default
	}
	return nil
}

// accepts reports whether a schema names a type, itself or in an alternative.
func accepts(s *jsonschema.Schema, typ string) bool {
	for _, t := range typesOf(s) {
		if t == typ {
			return true
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		for _, sub := range list {
			if sub != nil && accepts(sub, typ) {
				return true
			}
		}
	}
	return false
}
