package serialization

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A pathError is an error with the place of the value it is about.
type pathError struct {
	path []string // innermost first
	err  error
}

// within adds a step, outside of those the error has: ".Field", "[3]", `["key"]`.
func within(err error, step string) error {
	if e, ok := err.(*pathError); ok {
		e.path = append(e.path, step)
		return e
	}
	return &pathError{path: []string{step}, err: err}
}

func atIndex(err error, i int) error { return within(err, "["+strconv.Itoa(i)+"]") }

func atKey(err error, key string) error { return within(err, "["+strconv.Quote(key)+"]") }

func atMapKey(err error, key reflect.Value) error {
	if key.Kind() == reflect.String {
		return atKey(err, key.String())
	}
	return within(err, fmt.Sprintf("[%v]", key))
}

// shownSteps is the number of steps of a path that are shown at either end.
const shownSteps = 16

func (e *pathError) Error() string {
	path := slices.Clone(e.path)
	slices.Reverse(path)
	if len(path) > 2*shownSteps {
		path = slices.Concat(path[:shownSteps], []string{"..."}, path[len(path)-shownSteps:])
	}
	return fmt.Sprintf("%s: %s", strings.Join(path, ""), e.err)
}

func (e *pathError) Unwrap() error { return e.err }

// describe completes the path with the type of the value it begins at, which may be unknown.
func describe(err error, root reflect.Type) error {
	e, ok := err.(*pathError)
	if !ok {
		return err
	}
	name := "value"
	if root != nil && base(root).Name() != "" {
		name = base(root).Name()
	}
	return within(e, name)
}
