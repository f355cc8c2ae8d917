package gemini

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
)

// refs are the references that led to a schema, the latest first.
type refs struct {
	ref    string
	before *refs
}

// count returns how often a reference was followed.
func (r *refs) count(ref string) (n int) {
	for ; r != nil; r = r.before {
		if r.ref == ref {
			n++
		}
	}
	return n
}

// longest bounds chains of references that lead to each other.
const longest = 100

func (r *refs) length() (n int) {
	for ; r != nil; r = r.before {
		n++
	}
	return n
}

// expand returns a schema without $ref and allOf on its first level.
func (l *lowering) expand(v any, via *refs) schemaAt {
	s, ok := v.(kit.Object)
	if !ok { // true and false are schemas, too
		return schemaAt{refs: via}
	}
	out := schemaAt{refs: via}
	var parts []any
	for _, f := range s {
		switch f.Key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			if ref, ok := f.Value.(string); ok {
				target := l.target(ref, via)
				out.refs = target.refs
				out.Object = mergeSchemas(out.Object, target.Object)
			}
		case "allOf":
			list, _ := f.Value.([]any)
			parts = append(parts, list...)
		}
	}
	own := make(kit.Object, 0, len(s))
	for _, f := range s {
		switch f.Key {
		case "$ref", "$dynamicRef", "$recursiveRef", "allOf", "$defs", "definitions":
		default:
			own = append(own, f)
		}
	}
	out.Object = mergeSchemas(own, out.Object) // what stands beside a reference is nearer
	for _, p := range parts {
		if l.made++; l.made > maxSchemas {
			break
		}
		part := l.expand(p, out.refs)
		out.Object, out.refs = mergeSchemas(out.Object, part.Object), part.refs
	}
	return out
}

// target returns what a reference leads to. What contains itself too often, or is not in the document, is any object.
func (l *lowering) target(ref string, via *refs) schemaAt {
	found, ok := l.resolve(ref)
	if !ok {
		return schemaAt{kit.Object{{Key: noteKey, Value: "as " + ref + " says"}}, via}
	}
	s, _ := found.(kit.Object)
	if l.made++; via.count(ref) >= maxRecursion || via.length() > longest || l.made > maxSchemas {
		var plain kit.Object
		plain.Set("type", "object")
		if types := typesOf(s); len(types) > 0 {
			plain.Set("type", types[0])
		}
		plain.Set("description", s.Get("description"))
		return schemaAt{plain, via}
	}
	return l.expand(s, &refs{ref, via})
}

// resolve finds what a reference within the document means: "#", a path, or the name of an anchor.
func (l *lowering) resolve(ref string) (any, bool) {
	if id, ok := l.root.Get("$id").(string); ok && id != "" {
		if rest, ok := strings.CutPrefix(ref, id); ok && strings.HasPrefix(rest, "#") {
			ref = rest
		}
	}
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if path, ok = strings.CutPrefix(path, "/"); !ok {
		if path == "" {
			return l.root, true
		}
		return l.anchor(path)
	}
	var at any = l.root
	for name := range strings.SplitSeq(path, "/") {
		if unescaped, err := url.PathUnescape(name); err == nil {
			name = unescaped
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := at.(type) {
		case kit.Object:
			if at = v.Get(name); at == nil {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// anchor finds a schema by its name among the definitions.
func (l *lowering) anchor(name string) (any, bool) {
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := l.root.Get(key).(kit.Object)
		for _, d := range defs {
			s, _ := d.Value.(kit.Object)
			if s.Get("$anchor") == name || s.Get("$dynamicAnchor") == name || s.Get("$id") == "#"+name {
				return s, true
			}
		}
	}
	return l.root, l.root.Get("$anchor") == name || l.root.Get("$dynamicAnchor") == name
}
