package concat

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// maxDepth limits how deep maps may be nested in maps. It is there for maps that contain themselves.
const maxDepth = 1000

var errTooDeep = fmt.Errorf("cannot concat maps nested deeper than %d", maxDepth)

// Map joins maps as they come, without keeping them. The zero value is ready for use; it must not be copied after
// the first Add, and is not safe for concurrent use.
//
// The result is the union of the keys. A key with one value keeps it. The values of a key that came more than once
// must have one type and are joined by the rules of [Values]; nils among them count as absent.
type Map struct {
	join mapJoin[string]
}

// Add takes the entries of m. The map itself is not kept. A nil map counts as none.
func (j *Map) Add(m map[string]any) {
	if m != nil {
		addAll(&j.join, m)
	}
}

// Empty reports whether no map was added.
func (j *Map) Empty() bool { return j.join.values == nil }

// Result returns a new map with what was added so far, or nil if nothing was. More may be added afterwards.
func (j *Map) Result() (map[string]any, error) { return j.join.result(0) }

// Maps joins maps as [Map] does.
func Maps(ms []map[string]any) (map[string]any, error) {
	var j Map
	for _, m := range ms {
		j.Add(m)
	}
	return j.Result()
}

// mapJoin collects the values of each key.
type mapJoin[K comparable] struct {
	values map[K]any    // the first value of each key that is not nil
	later  map[K]*group // keys with more than one
	seen   int          // maps added
}

// group holds the values of one key, in the order of arrival.
type group struct {
	values []any
	since  int // the map that brought the second value
}

func addAll[K comparable, V any](j *mapJoin[K], m map[K]V) {
	j.seen++
	if j.values == nil {
		j.values = make(map[K]any, len(m))
	}
	for k, v := range m {
		j.add(k, v)
	}
}

func (j *mapJoin[K]) add(k K, v any) {
	first, ok := j.values[k]
	switch {
	case !ok || first == nil:
		j.values[k] = v
		return
	case v == nil:
		return
	}
	if g, ok := j.later[k]; ok {
		g.values = append(g.values, v)
		return
	}
	if j.later == nil {
		j.later = map[K]*group{}
	}
	j.later[k] = &group{values: []any{first, v}, since: j.seen}
}

// result joins each key. Of several failures it reports the one whose key repeated first, so that the error does not
// depend on the order of the map.
func (j *mapJoin[K]) result(depth int) (map[K]any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	joined := maps.Clone(j.values)
	var failed failure
	for k, g := range j.later {
		v, err := joinValues(g.values, depth)
		if err == errTooDeep {
			return nil, err // at once: a map that contains itself twice has no end in sight
		}
		if err != nil {
			failed.note(fmt.Sprint(k), g.since, err)
			continue
		}
		joined[k] = v
	}
	if failed.err != nil {
		return nil, atKey(failed.key, failed.err)
	}
	return joined, nil
}

// failure is the earliest of the failures noted.
type failure struct {
	key   string
	since int
	err   error
}

func (f *failure) note(key string, since int, err error) {
	if f.err == nil || since < f.since || since == f.since && key < f.key {
		*f = failure{key: key, since: since, err: err}
	}
}

// joinMaps joins maps of type t, boxed or of a type that needs reflection.
func joinMaps(values []any, t reflect.Type, depth int) (any, error) {
	if t == reflect.TypeFor[map[string]any]() {
		var j mapJoin[string]
		for _, v := range values {
			addAll(&j, v.(map[string]any))
		}
		return j.result(depth)
	}
	var j mapJoin[any]
	j.values = map[any]any{}
	for _, v := range values {
		j.seen++
		for it := reflect.ValueOf(v).MapRange(); it.Next(); {
			j.add(it.Key().Interface(), it.Value().Interface())
		}
	}
	joined, err := j.result(depth)
	if err != nil {
		return nil, err
	}
	out := reflect.MakeMapWithSize(t, len(joined))
	for k, v := range joined {
		out.SetMapIndex(orZero(k, t.Key()), orZero(v, t.Elem()))
	}
	return out.Interface(), nil
}

// orZero is the reflection of v, or the zero value of t if v is nil.
func orZero(v any, t reflect.Type) reflect.Value {
	if v == nil {
		return reflect.Zero(t)
	}
	return reflect.ValueOf(v)
}

// keyError says under which key of which nested maps an error occurred.
type keyError struct {
	path []string // innermost first
	err  error
}

func atKey(key string, err error) error {
	if inner, ok := err.(*keyError); ok {
		inner.path = append(inner.path, key)
		return inner
	}
	return &keyError{path: []string{key}, err: err}
}

func (e *keyError) Error() string {
	var b strings.Builder
	b.WriteString(e.err.Error())
	b.WriteString(", key: ")
	for i := len(e.path) - 1; i >= 0; i-- {
		b.WriteString(e.path[i])
		if i > 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func (e *keyError) Unwrap() error { return e.err }
