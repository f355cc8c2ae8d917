// Package typednil recognises interfaces that look set and hold nothing.
//
// The constructors of middlewares use it to refuse a backend that is a nil pointer before a run meets it.
// It must never look at anything but pointers, maps and functions: every other value counts as set.
package typednil

import "reflect"

// Is reports whether v is nil, or a nil pointer, map or function in an interface.
func Is(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func:
		return rv.IsNil()
	}
	return false
}
