package serialization

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// shownSteps is how many steps of a path are shown at either end.
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

// describe completes the path with the type of the value it begins at.
func describe(err error, v any) error {
	var e *pathError
	if errors.As(err, &e) {
		return within(e, rootName(reflect.TypeOf(v)))
	}
	return err
}

func rootName(t reflect.Type) string {
	if name := base(t).Name(); name != "" {
		return name
	}
	return "value"
}
