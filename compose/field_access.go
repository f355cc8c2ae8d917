package compose

import (
	"errors"
	"fmt"
	"reflect"
)

// accessor reads or writes one element of a path in a value whose static type is known: a struct field by its index
// or a map element by its key. dynamic elements lie behind an interface and are looked up when the value is there.
type accessor struct {
	name    string
	field   []int         // of a struct
	key     reflect.Value // of a map, already of the map's key type
	dynamic bool
}

// resolve finds the accessors of path in t and the type of what it leads to. On the source side a path may go through
// any interface (the type is then nil: known only at run time), on the target side only through any.
func resolve(t reflect.Type, path FieldPath, target bool) ([]accessor, reflect.Type, error) {
	steps := make([]accessor, 0, len(path))
	for i, name := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
			steps = append(steps, accessor{name: name, key: reflect.ValueOf(name).Convert(t.Key())})
			t = t.Elem()
		case t.Kind() == reflect.Map:
			return nil, nil, fmt.Errorf("type[%v] is not a map with string or string alias key", t)
		case t.Kind() == reflect.Struct:
			f, ok := t.FieldByName(name)
			if !ok {
				return nil, nil, fmt.Errorf("type[%v] has no field[%s]", t, name)
			}
			if !f.IsExported() {
				return nil, nil, fmt.Errorf("type[%v] has an unexported field[%s]", t, name)
			}
			if target && !canMakeEmbedded(t, f.Index) {
				return nil, nil, fmt.Errorf("type[%v] has field[%s] behind an embedded pointer to an unexported type, which cannot be set", t, name)
			}
			steps = append(steps, accessor{name: name, field: f.Index})
			t = f.Type
		case t.Kind() == reflect.Interface && !target:
			for _, name := range path[i:] {
				steps = append(steps, accessor{name: name, dynamic: true})
			}
			return steps, nil, nil
		case t == reflect.TypeFor[any]():
			for _, name := range path[i:] {
				steps = append(steps, accessor{name: name, key: reflect.ValueOf(name), dynamic: true})
			}
			return steps, t, nil
		case t.Kind() == reflect.Interface:
			return nil, nil, errInterfaceOnTarget{t}
		default:
			return nil, nil, fmt.Errorf("intermediate type[%v] is not valid", t)
		}
	}
	return steps, t, nil
}

// canMakeEmbedded reports whether every pointer on the way to a promoted field can be set.
func canMakeEmbedded(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if t = f.Type; t.Kind() != reflect.Pointer {
			continue
		}
		if !f.IsExported() {
			return false
		}
		t = t.Elem()
	}
	return true
}

// errInterfaceOnTarget is a target path through an interface other than any.
type errInterfaceOnTarget struct{ t reflect.Type }

func (e errInterfaceOnTarget) Error() string {
	return fmt.Sprintf("the successor has intermediate interface type %v", e.t)
}

// errNoKey is a map without the key that a mapping reads.
var errNoKey = errors.New("field mapping from a map key, but key not found in input")

// read follows the path into v.
func read(v reflect.Value, path []accessor) (reflect.Value, error) {
	for i := range path {
		var err error
		if v, err = readOne(v, path, i); err != nil {
			return reflect.Value{}, err
		}
	}
	return v, nil
}

func readOne(v reflect.Value, path []accessor, i int) (reflect.Value, error) {
	static := v.Type()
	behindInterface := v.Kind() == reflect.Interface
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, fmt.Errorf("intermediate source value on path=%v is nil for type [%v]", names(path[:i+1]), static)
		}
		v = v.Elem()
	}
	step := &path[i]
	switch v.Kind() {
	case reflect.Map:
		return readKey(v, step, names(path[:i+1]))
	case reflect.Struct:
		return readField(v, step)
	}
	if behindInterface {
		return v, fmt.Errorf("field mapping from an interface type, but actual type is not struct, struct ptr or map. InterfaceType= %v, ActualType= %v",
			static, v.Type())
	}
	return v, fmt.Errorf("intermediate type[%v] is not valid", v.Type())
}

func readKey(m reflect.Value, step *accessor, path FieldPath) (reflect.Value, error) {
	if m.IsNil() {
		return m, fmt.Errorf("intermediate source value on path=%v is nil for map type [%v]", path, m.Type())
	}
	key := step.key
	if step.dynamic {
		if m.Type().Key().Kind() != reflect.String {
			return m, fmt.Errorf("type[%v] is not a map with string or string alias key", m.Type())
		}
		key = reflect.ValueOf(step.name).Convert(m.Type().Key())
	}
	elem := m.MapIndex(key)
	if !elem.IsValid() {
		return m, fmt.Errorf("%w. key=%s", errNoKey, step.name)
	}
	return elem, nil
}

func readField(v reflect.Value, step *accessor) (reflect.Value, error) {
	index := step.field
	if step.dynamic {
		f, ok := v.Type().FieldByName(step.name)
		if !ok {
			return v, fmt.Errorf("field mapping from a struct field, but field not found. field=%v, inputType=%v", step.name,
				v.Type())
		}
		if !f.IsExported() {
			return v, fmt.Errorf("field mapping from a struct field, but field not exported. field= %v, inputType=%v", step.name,
				v.Type())
		}
		index = f.Index
	}
	field, err := v.FieldByIndexErr(index)
	if err != nil {
		return v, fmt.Errorf("field mapping from a struct field of a nil embedded pointer. field=%v, inputType=%v", step.name,
			v.Type())
	}
	return field, nil
}

func names(path []accessor) FieldPath {
	out := make(FieldPath, len(path))
	for i := range path {
		out[i] = path[i].name
	}
	return out
}

// write puts v at the path in dst, which must be settable, making the pointers and maps on the way. An invalid v is
// an untyped nil: a struct field keeps its zero value, a map key gets the zero value of the elements.
func write(dst reflect.Value, path []accessor, v reflect.Value) {
	for dst.Kind() == reflect.Pointer && len(path) > 0 {
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		dst = dst.Elem()
	}
	if len(path) == 0 {
		if v.IsValid() {
			dst.Set(v)
		}
		return
	}
	if dst.Kind() == reflect.Struct {
		write(fieldToWrite(dst, path[0].field), path[1:], v)
		return
	}
	m := dst
	if dst.Kind() == reflect.Interface { // any: becomes a map
		m = reflect.ValueOf(map[string]any(nil))
		if inner, ok := dst.Interface().(map[string]any); ok {
			m = reflect.ValueOf(inner)
		}
	}
	if m.IsNil() {
		m = reflect.MakeMap(m.Type())
		dst.Set(m)
	}
	elem := reflect.New(m.Type().Elem()).Elem()
	if present := m.MapIndex(path[0].key); present.IsValid() {
		elem.Set(present)
	}
	write(elem, path[1:], v)
	m.SetMapIndex(path[0].key, elem)
}

// fieldToWrite is FieldByIndex that makes nil embedded pointers.
func fieldToWrite(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
