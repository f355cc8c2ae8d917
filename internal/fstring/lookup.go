package fstring

import (
	"fmt"
	"reflect"
	"strconv"
)

// lookup follows the keys from v. The result is the value, or, where that is hidden in an unexported field, a
// reflect.Value, which package fmt prints as the value.
func lookup(v any, path []string) (any, error) {
	r := reflect.ValueOf(v)
	var err error
	for _, key := range path {
		if r, err = step(r, key); err != nil {
			return nil, err
		}
	}
	switch {
	case !r.IsValid():
		return nil, nil
	case r.CanInterface():
		return r.Interface(), nil
	}
	return r, nil
}

// step looks up one key.
func step(r reflect.Value, key string) (reflect.Value, error) {
	for r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface {
		if r.IsNil() {
			return reflect.Value{}, fmt.Errorf("attempted to dereference nil pointer %s", key)
		}
		r = r.Elem()
	}
	switch r.Kind() {
	case reflect.Invalid:
		return reflect.Value{}, fmt.Errorf("attempted to dereference nil pointer %s", key)
	case reflect.Map:
		return entry(r, key)
	case reflect.Slice, reflect.Array:
		return element(r, key)
	case reflect.Struct:
		return structField(r, key)
	}
	return reflect.Value{}, fmt.Errorf("could not find field: %s", key)
}

func entry(r reflect.Value, key string) (reflect.Value, error) {
	if r.Type().Key().Kind() != reflect.String {
		return reflect.Value{}, fmt.Errorf("could not look up key %s from map of type %v", key, r.Type())
	}
	v := r.MapIndex(reflect.ValueOf(key).Convert(r.Type().Key()))
	if !v.IsValid() {
		return v, fmt.Errorf("could not find key: %s", key)
	}
	return v, nil
}

func element(r reflect.Value, key string) (reflect.Value, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("could not look up index %s from %v", key, r.Type())
	}
	if i < 0 || i >= r.Len() {
		return reflect.Value{}, fmt.Errorf("index out of bounds: %d", i)
	}
	return r.Index(i), nil
}

func structField(r reflect.Value, key string) (reflect.Value, error) {
	f, ok := r.Type().FieldByName(key)
	if !ok {
		return reflect.Value{}, fmt.Errorf("could not find field: %s", key)
	}
	v, err := r.FieldByIndexErr(f.Index)
	if err != nil {
		return v, fmt.Errorf("attempted to dereference nil pointer %s", key)
	}
	return v, nil
}
