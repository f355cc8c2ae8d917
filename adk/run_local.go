package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"reflect"
	"sync"

	"github.com/weftgo/weft/internal/safe"
)

// SetRunLocalValue keeps a value for the rest of the run, for all its hooks and tools. It is saved with an interrupted
// run, so its type must be one that encoding/gob can encode behind an interface: register it with schema.RegisterName.
// What cannot be saved belongs into a context (context.WithValue in BeforeAgent). It is safe for concurrent use.
func SetRunLocalValue(ctx context.Context, key string, value any) error {
	if err := probeSaving(value); err != nil {
		return fmt.Errorf("SetRunLocalValue failed: the value of %q is not gob-serializable: type %T: %w "+
			"(register the type with schema.RegisterName, or keep the value in a context with context.WithValue)", key, value, err)
	}
	err := processShared(ctx, func(extra *map[string]any, _ func(string, *AgentAction) error) error {
		if *extra == nil {
			*extra = map[string]any{}
		}
		(*extra)[key] = value
		return nil
	})
	if err != nil {
		return fmt.Errorf("SetRunLocalValue failed: %w", err)
	}
	return nil
}

// GetRunLocalValue returns a value that [SetRunLocalValue] has set in this run.
func GetRunLocalValue(ctx context.Context, key string) (value any, ok bool, err error) {
	err = processShared(ctx, func(extra *map[string]any, _ func(string, *AgentAction) error) error {
		value, ok = (*extra)[key]
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("GetRunLocalValue failed: %w", err)
	}
	return value, ok, nil
}

// DeleteRunLocalValue removes a value. That there is none is no error.
func DeleteRunLocalValue(ctx context.Context, key string) error {
	err := processShared(ctx, func(extra *map[string]any, _ func(string, *AgentAction) error) error {
		delete(*extra, key)
		return nil
	})
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
	if _, ok := savable.Load(t); ok {
		return nil
	}
	if err := encodeProbe(value); err != nil {
		return err
	}
	if t != nil && isClosed(t, nil) {
		savable.Store(t, struct{}{})
	}
	return nil
}

func encodeProbe(value any) (err error) {
	defer safe.Recover(&err)
	var buf bytes.Buffer
	return gob.NewEncoder(&buf).Encode(map[string]any{"": value})
}

// isClosed reports whether a type holds no interface, so that one value tells about all of them.
func isClosed(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return true
	}
	if seen == nil {
		seen = map[reflect.Type]bool{}
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface, reflect.Func, reflect.Chan:
		return false
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return isClosed(t.Elem(), seen)
	case reflect.Map:
		return isClosed(t.Key(), seen) && isClosed(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if !isClosed(t.Field(i).Type, seen) {
				return false
			}
		}
	}
	return true
}
