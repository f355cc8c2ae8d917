package adk

import (
	"bytes"
	"context"
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/serialization"
)

// SetRunLocalValue keeps a value for the rest of the run, for all its hooks and tools. It is saved with an interrupted
// run, so its type must be one that encoding/gob can encode behind an interface: register it with schema.RegisterName.
// What cannot be saved belongs in a context (context.WithValue in BeforeAgent). It is safe for concurrent use.
func SetRunLocalValue(ctx context.Context, key string, value any) error {
	if err := probeSaving(value); err != nil {
		return fmt.Errorf("SetRunLocalValue failed: the value of %q is not gob-serializable: type %T: %w "+
			"(register the type with schema.RegisterName, or keep the value in a context with context.WithValue)", key, value, err)
	}
	r, err := runForValues(ctx)
	if err == nil {
		err = r.setRunLocal(ctx, key, value)
	}
	if err != nil {
		return fmt.Errorf("SetRunLocalValue failed: %w", err)
	}
	return nil
}

// GetRunLocalValue returns a value that [SetRunLocalValue] has set in this run.
func GetRunLocalValue(ctx context.Context, key string) (value any, ok bool, err error) {
	r, err := runForValues(ctx)
	if err == nil {
		value, ok, err = r.runLocal(ctx, key)
	}
	if err != nil {
		return nil, false, fmt.Errorf("GetRunLocalValue failed: %w", err)
	}
	return value, ok, nil
}

// DeleteRunLocalValue removes a value. That there is none is no error.
func DeleteRunLocalValue(ctx context.Context, key string) error {
	r, err := runForValues(ctx)
	if err == nil {
		err = r.deleteRunLocal(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("DeleteRunLocalValue failed: %w", err)
	}
	return nil
}

// savable has the types whose values are known to be savable, whatever they hold.
var savable sync.Map // reflect.Type → struct{}

// probeSaving reports why a value could not be saved.
func probeSaving(value any) error {
	t := reflect.TypeOf(value)
	if _, ok := savable.Load(t); ok && !isNilPointer(value) {
		return nil
	}
	if err := encodeProbe(value); err != nil {
		return err
	}
	if t != nil && (t.Kind() == reflect.Pointer && isClosed(t.Elem(), nil) || isClosed(t, nil)) {
		savable.Store(t, struct{}{})
	}
	return nil
}

func isNilPointer(value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func encodeProbe(value any) (err error) {
	defer safe.Recover(&err)
	// What a run is saved with comes first: it finds values that contain themselves, on which gob overflows the stack.
	if _, err := new(serialization.InternalSerializer).Marshal(value); err != nil {
		return err
	}
	var buf bytes.Buffer
	return gob.NewEncoder(&buf).Encode(map[string]any{"": value})
}

var encoders = []reflect.Type{
	reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

// isClosed reports whether one value of a type stands for all of them: there is no interface in it, no pointer that
// must not be nil, and no method that encodes it. outer are the types around it; one that holds itself is not closed.
func isClosed(t reflect.Type, outer []reflect.Type) bool {
	if slices.Contains(outer, t) || slices.ContainsFunc(encoders, func(e reflect.Type) bool {
		return t.Implements(e) || reflect.PointerTo(t).Implements(e)
	}) {
		return false
	}
	outer = append(slices.Clip(outer), t)
	switch t.Kind() {
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Pointer:
		return false
	case reflect.Slice, reflect.Array:
		return isClosed(t.Elem(), outer)
	case reflect.Map:
		return isClosed(t.Key(), outer) && isClosed(t.Elem(), outer)
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i).Type
			if field.Kind() == reflect.Pointer { // nil is left out
				field = field.Elem()
			}
			if !isClosed(field, outer) {
				return false
			}
		}
	}
	return true
}
