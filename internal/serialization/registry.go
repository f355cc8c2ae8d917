package serialization

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
)

// builtinPrefix is what the names of predeclared types begin with in the registry.
const builtinPrefix = "_eino_"

// types is an immutable state of the registry. A type has one name that it is written with; it may be read by others.
type types struct {
	byName   map[string]reflect.Type
	byType   map[reflect.Type]string
	defaults map[reflect.Type]bool // may be registered again under another name
}

// The registry is replaced by every registration, so that reading it needs no lock.
var (
	registry   atomic.Pointer[types]
	registryMu sync.Mutex // held while the registry is replaced
)

func init() {
	r := &types{byName: map[string]reflect.Type{}, byType: map[reflect.Type]string{}, defaults: map[reflect.Type]bool{}}
	for name, t := range builtins {
		r.byName[builtinPrefix+name] = t
		r.byType[t] = builtinPrefix + name
		r.defaults[t] = true
	}
	registry.Store(r)
}

// GenericRegister makes T a type that may stand behind an interface, written as key. Pointers are removed: T and *T are
// one type. Registering the same pair again does nothing; a key or a type that is registered otherwise is an error.
func GenericRegister[T any](key string) error {
	return Register(reflect.TypeFor[T](), key)
}

// Register is [GenericRegister] of a type known at run time.
func Register(t reflect.Type, key string) error {
	return register(t, key, false)
}

// RegisterDefault registers a type that the library knows without being asked. Another registration of it adds a
// second name, which it can be read by.
func RegisterDefault(t reflect.Type, key string) error {
	return register(t, key, true)
}

// Check returns the error that [Register] would return.
func Check(t reflect.Type, key string) error {
	_, err := registry.Load().check(base(t), key)
	return err
}

func register(t reflect.Type, key string, isDefault bool) error {
	t = base(t)
	registryMu.Lock()
	defer registryMu.Unlock()
	old := registry.Load()
	known, err := old.check(t, key)
	if err != nil || known {
		return err
	}
	next := &types{byName: maps.Clone(old.byName), byType: maps.Clone(old.byType), defaults: maps.Clone(old.defaults)}
	next.byName[key] = t
	if _, ok := next.byType[t]; !ok {
		next.byType[t] = key
	}
	if isDefault {
		next.defaults[t] = true
	}
	registry.Store(next)
	return nil
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
	if other, ok := r.byType[t]; ok && !r.defaults[t] {
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
