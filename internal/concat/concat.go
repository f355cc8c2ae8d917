package concat

import (
	"fmt"
	"reflect"
)

// Items joins the chunks of a stream of T. One chunk is returned as it is, and none gives the zero value. Otherwise
// the function registered for T decides; without one, maps are joined key by key (see [Map]), an interface type goes
// by what its values are, and of any other type at most one chunk may be other than zero.
func Items[T any](items []T) (T, error) {
	var zero T
	switch len(items) {
	case 0:
		return zero, nil
	case 1:
		return items[0], nil
	}
	t := reflect.TypeFor[T]()
	if e, ok := lookup(t); ok {
		return call(e.typed.(func([]T) (T, error)), items)
	}
	if ms, ok := any(items).([]map[string]any); ok {
		joined, err := Maps(ms)
		if err != nil {
			return zero, err
		}
		return any(joined).(T), nil
	}
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return boxedItems(items, t)
	}
	return onlyNonZero(items, t)
}

// boxedItems joins items of a map or interface type through [Values].
func boxedItems[T any](items []T, t reflect.Type) (joined T, err error) {
	values := make([]any, 0, len(items))
	for _, item := range items {
		if v := any(item); v != nil {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return joined, nil
	}
	if other := firstOfOtherType(values); t.Kind() == reflect.Interface && other >= 0 {
		return joined, fmt.Errorf("cannot concat multiple non-zero value of type %v: got %T and %T", t, values[0],
			values[other])
	}
	v, err := Values(values)
	if err != nil {
		return joined, err
	}
	return v.(T), nil
}

func onlyNonZero[T any](items []T, t reflect.Type) (T, error) {
	var found T
	n := 0
	for i := range items {
		if reflect.ValueOf(&items[i]).Elem().IsZero() {
			continue
		}
		found = items[i]
		n++
	}
	if n > 1 {
		var zero T
		return zero, fmt.Errorf("cannot concat multiple non-zero value of type %v", t)
	}
	return found, nil
}

// Values joins values that all have one dynamic type, by the rules of [Items] for that type. Nil values, typed or
// not, count as absent; if there is nothing else the result is nil. One remaining value is returned as it is.
// Values of different types are an error.
func Values(values []any) (any, error) { return joinValues(values, 0) }

func joinValues(values []any, depth int) (any, error) {
	values = withoutNils(values)
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return values[0], nil
	}
	if i := firstOfOtherType(values); i >= 0 {
		return nil, fmt.Errorf("unexpected slice element type. Got %T, expected %T", values[i], values[0])
	}
	t := reflect.TypeOf(values[0])
	if e, ok := lookup(t); ok {
		return e.boxed(values)
	}
	if t.Kind() == reflect.Map {
		return joinMaps(values, t, depth+1)
	}
	return onlyNonZeroValue(values, t)
}

// withoutNils returns values without those that are nil. It copies only if there is one.
func withoutNils(values []any) []any {
	for i, v := range values {
		if !isNil(v) {
			continue
		}
		kept := append([]any(nil), values[:i]...)
		for _, v := range values[i+1:] {
			if !isNil(v) {
				kept = append(kept, v)
			}
		}
		if len(kept) == 0 && v != nil {
			return values[i : i+1] // all nil, the first one typed: the type is worth keeping
		}
		return kept
	}
	return values
}

// isNil reports whether v is nil or holds a nil pointer, map, slice, function or channel.
func isNil(v any) bool {
	switch v.(type) {
	case nil:
		return true
	case string, bool, int, int64, float64: // what most extras are: spare them the reflection
		return false
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return r.IsNil()
	}
	return false
}

// firstOfOtherType returns the index of the first value whose type differs from the type of values[0], or -1.
func firstOfOtherType(values []any) int {
	t := reflect.TypeOf(values[0])
	for i, v := range values[1:] {
		if reflect.TypeOf(v) != t {
			return i + 1
		}
	}
	return -1
}

func onlyNonZeroValue(values []any, t reflect.Type) (any, error) {
	found := values[0]
	n := 0
	for _, v := range values {
		if !reflect.ValueOf(v).IsZero() {
			found = v
			n++
		}
	}
	if n > 1 {
		return nil, fmt.Errorf("cannot concat multiple non-zero value of type %v", t)
	}
	return found, nil
}
