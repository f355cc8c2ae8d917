package serialization

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
)

// builtinPrefix begins the names of predeclared types in the registry.
const builtinPrefix = "_eino_"

// types is a state of the registry. A type is written with its first name; it may be read by others.
type types struct {
	byName map[string]reflect.Type
	byType map[reflect.Type]string
	shared map[reflect.Type]bool // may have several names
}

// The registry is read from an immutable copy, which a registration makes outdated and the next reader makes again: so
// neither many registrations nor many readers cost much.
var (
	registryMu sync.Mutex
	registry   = withBuiltins() // under registryMu
	snapshot   atomic.Pointer[types]
)

func withBuiltins() types {
	r := types{byName: map[string]reflect.Type{}, byType: map[reflect.Type]string{}, shared: map[reflect.Type]bool{}}
	for name, t := range builtins {
		r.byName[builtinPrefix+name] = t
		r.byType[t] = builtinPrefix + name
		r.shared[t] = true
	}
	return r
}

// registered returns the current state, which does not change.
func registered() *types {
	if s := snapshot.Load(); s != nil {
		return s
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	s := &types{byName: maps.Clone(registry.byName), byType: maps.Clone(registry.byType)}
	snapshot.Store(s)
	return s
}

// GenericRegister makes T a type that may stand behind an interface, written as key. Pointers are removed: T and *T are
// one type. Registering the same pair again does nothing; a key or a type that is registered otherwise is an error.
func GenericRegister[T any](key string) error {
	return Register(reflect.TypeFor[T](), key)
}

// Register is [GenericRegister] of a type known at run time.
func Register(t reflect.Type, key string) error {
	t = base(t)
	registryMu.Lock()
	defer registryMu.Unlock()
	known, err := registry.check(t, key)
	if err != nil || known {
		return err
	}
	registry.byName[key] = t
	if _, ok := registry.byType[t]; !ok {
		registry.byType[t] = key
	}
	snapshot.Store(nil)
	return nil
}

// Share lets t have several names: a type that the library registers without being asked must not stand in the way of
// a program that does it, too.
func Share(t reflect.Type) {
	registryMu.Lock()
	defer registryMu.Unlock()
	registry.shared[base(t)] = true
}

// Check returns the error that [Register] would return.
func Check(t reflect.Type, key string) error {
	registryMu.Lock()
	defer registryMu.Unlock()
	_, err := registry.check(base(t), key)
	return err
}

// check reports whether the pair is registered, or why it cannot be.
func (r *types) check(t reflect.Type, key string) (known bool, err error) {
	if key == "" {
		return false, fmt.Errorf("cannot register %s under an empty key", t)
	}
	if other, ok := r.byName[key]; ok {
		if other != t {
			return false, fmt.Errorf("key[%s] already registered to %s", key, other)
		}
		return true, nil
	}
	if other, ok := r.byType[t]; ok && !r.shared[t] {
		return false, fmt.Errorf("type[%s] already registered to %s", t, other)
	}
	return false, nil
}

// base removes all pointers of t.
func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	return t
}
