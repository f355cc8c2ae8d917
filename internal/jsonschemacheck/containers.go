package jsonschemacheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

func (w *walk) object(s *jsonschema.Schema, v map[string]any, path string) {
	w.required(s.Required, v, path)
	if s.MinProperties != nil && uint64(len(v)) < *s.MinProperties {
		w.wrong(path, fmt.Sprintf("must have at least %d properties", *s.MinProperties))
	}
	if s.MaxProperties != nil && uint64(len(v)) > *s.MaxProperties {
		w.wrong(path, fmt.Sprintf("must have at most %d properties", *s.MaxProperties))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if s.PropertyNames != nil && !w.fits(s.PropertyNames, name) {
			w.wrong(property(path, name), "has a name that is not allowed")
		}
		w.member(s, name, v[name], path)
		if needed, ok := s.DependentRequired[name]; ok {
			w.required(needed, v, path)
		}
		if sub, ok := s.DependentSchemas[name]; ok {
			w.value(sub, v, path)
		}
	}
}

func (w *walk) required(names []string, v map[string]any, path string) {
	for _, name := range names {
		if _, ok := v[name]; !ok {
			w.wrong(property(path, name), "is required")
		}
	}
}

// member holds one property of an object against what the schema says of it.
func (w *walk) member(s *jsonschema.Schema, name string, v any, path string) {
	path = property(path, name)
	sub, known := propertyOf(s, name)
	if known && v == nil && !slices.Contains(s.Required, name) {
		return // null stands for a property that is left out
	}
	if known {
		w.value(sub, v, path)
	}
	for pattern, sub := range s.PatternProperties {
		if p := w.checker.patterns[pattern]; p == nil || p.MatchString(name) {
			known = true
			if p != nil {
				w.value(sub, v, path)
			}
		}
	}
	switch {
	case known:
	case w.checker.nothing[s.AdditionalProperties]:
		w.wrong(path, "is unknown"+knownNames(s))
	default:
		w.value(s.AdditionalProperties, v, path)
	}
}

func propertyOf(s *jsonschema.Schema, name string) (*jsonschema.Schema, bool) {
	if s.Properties == nil {
		return nil, false
	}
	return s.Properties.Get(name)
}

// maxNames is the number of names that are listed for a model that wrote one that there is not.
const maxNames = 12

// knownNames lists the properties that there are.
func knownNames(s *jsonschema.Schema) string {
	if s.Properties == nil || s.Properties.Len() == 0 || s.Properties.Len() > maxNames {
		return ""
	}
	var names []string
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		names = append(names, p.Key)
	}
	return " (known: " + strings.Join(names, ", ") + ")"
}

func (w *walk) array(s *jsonschema.Schema, v []any, path string) {
	if s.MinItems != nil && uint64(len(v)) < *s.MinItems {
		w.wrong(path, fmt.Sprintf("must have at least %d elements", *s.MinItems))
	}
	if s.MaxItems != nil && uint64(len(v)) > *s.MaxItems {
		w.wrong(path, fmt.Sprintf("must have at most %d elements", *s.MaxItems))
	}
	for i := range v {
		if sub := s.Items; i < len(s.PrefixItems) {
			w.value(s.PrefixItems[i], v[i], fmt.Sprintf("%s[%d]", path, i))
		} else if sub != nil {
			w.value(sub, v[i], fmt.Sprintf("%s[%d]", path, i))
		}
	}
	if s.UniqueItems {
		w.unique(v, path)
	}
	if s.Contains != nil {
		w.contains(s, v, path)
	}
}

// unique compares every element with those before it; the steps bound that.
func (w *walk) unique(v []any, path string) {
	for i := range v {
		if *w.steps += i; *w.steps > maxSteps {
			return
		}
		if j := slices.IndexFunc(v[:i], func(other any) bool { return equal(other, v[i]) }); j >= 0 {
			w.wrong(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("must differ from [%d]", j))
			return
		}
	}
}

func (w *walk) contains(s *jsonschema.Schema, v []any, path string) {
	n := uint64(0)
	for _, element := range v {
		if w.fits(s.Contains, element) {
			n++
		}
	}
	least := uint64(1)
	if s.MinContains != nil {
		least = *s.MinContains
	}
	if n < least {
		w.wrong(path, fmt.Sprintf("must have at least %d elements of the wanted kind", least))
	}
	if s.MaxContains != nil && n > *s.MaxContains {
		w.wrong(path, fmt.Sprintf("must have at most %d elements of the wanted kind", *s.MaxContains))
	}
}
