package compose

import (
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/registry"
	"github.com/weftgo/weft/internal/safe"
)

// valueMergers joins the values that several predecessors have for one node, by their type.
var valueMergers registry.Map[reflect.Type, func([]any) (any, error)]

// RegisterValuesMergeFunc says how values of type T from several predecessors become one input. Without it only maps
// can be merged, if their keys are distinct. Registering a type again replaces its function. It is safe for
// concurrent use, and panics if fn is nil.
func RegisterValuesMergeFunc[T any](fn func([]T) (T, error)) {
	if fn == nil {
		panic(fmt.Sprintf("compose: nil function registered to merge values of %v", reflect.TypeFor[T]()))
	}
	valueMergers.Set(reflect.TypeFor[T](), func(vs []any) (any, error) {
		typed := make([]T, len(vs))
		for i, v := range vs {
			typed[i], _ = v.(T)
		}
		return boxed(fn(typed))
	})
}

// unmergeable is the error of values that are fine, each by itself.
type unmergeable string

func (e unmergeable) Error() string { return string(e) }

// mergeValues joins the values of several predecessors, in their order. Untyped nils count as absent.
func mergeValues(vs []any) (merged any, err error) {
	defer safe.Recover(&err)
	present := vs[:0:0]
	for _, v := range vs {
		if v != nil {
			present = append(present, v)
		}
	}
	if len(present) == 0 {
		return nil, nil
	}
	if len(present) == 1 {
		return present[0], nil
	}
	t := reflect.TypeOf(present[0])
	merge, registered := valueMergers.Get(t)
	if !registered && t.Kind() != reflect.Map {
		return nil, unmergeable(fmt.Sprintf("(mergeValues) unsupported type: %v", t))
	}
	for _, v := range present[1:] {
		if other := reflect.TypeOf(v); other != t {
			if registered {
				return nil, fmt.Errorf("(values merge) field type mismatch. expected: '%v', got: '%v'", t, other)
			}
			return nil, fmt.Errorf("(values merge map) field type mismatch. expected: '%v', got: '%v'", t, other)
		}
	}
	if registered {
		return merge(present)
	}
	if t == keyed.Type() {
		return mergeKeyed(present)
	}
	return mergeMaps(t, present)
}

func mergeKeyed(vs []any) (any, error) {
	size := 0
	for _, v := range vs {
		size += len(v.(map[string]any))
	}
	merged := make(map[string]any, size)
	for _, v := range vs {
		for k, elem := range v.(map[string]any) {
			if _, twice := merged[k]; twice {
				return nil, duplicateKey(k)
			}
			merged[k] = elem
		}
	}
	return merged, nil
}

func mergeMaps(t reflect.Type, vs []any) (any, error) {
	merged := reflect.MakeMap(t)
	for _, v := range vs {
		for iter := reflect.ValueOf(v).MapRange(); iter.Next(); {
			if merged.MapIndex(iter.Key()).IsValid() {
				return nil, duplicateKey(iter.Key())
			}
			merged.SetMapIndex(iter.Key(), iter.Value())
		}
	}
	return merged.Interface(), nil
}

func duplicateKey(k any) error {
	return unmergeable(fmt.Sprintf("(values merge map) duplicated key ('%v') found", k))
}

// checkMergeable reports why streams with such chunks cannot be merged.
func checkMergeable(chunk reflect.Type) error {
	if _, ok := valueMergers.Get(chunk); ok || chunk.Kind() == reflect.Map {
		return nil
	}
	return unmergeable(fmt.Sprintf("(mergeValues | stream type) unsupported chunk type: %v", chunk))
}
