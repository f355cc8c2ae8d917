package utils

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/eino-contrib/jsonschema"
)

// checkDescribable finds what the schema reflector does not survive before it gets there: types that contain
// themselves, which it would follow until the stack is full, and types that JSON does not know.
func checkDescribable(t reflect.Type) error {
	_, err := protect(func() (struct{}, error) {
		return struct{}{}, (&typeWalk{done: map[reflect.Type]bool{}}).enter(t)
	})
	return err
}

// typeWalk follows a type the way the reflector does.
type typeWalk struct {
	path []string              // the fields that lead to where the walk is
	open []reflect.Type        // the types the walk is in
	done map[reflect.Type]bool // the types that were found to be all right
}

// Types with methods of these say themselves how they are described.
var (
	selfDescribing  = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
	aliased         = reflect.TypeFor[interface{ JSONSchemaAlias() any }]()
	aliasedProperty = reflect.TypeFor[interface{ JSONSchemaProperty(string) any }]()
	protoEnum       = reflect.TypeFor[interface{ EnumDescriptor() ([]byte, []int) }]()
)

// wellKnown types have a schema of their own.
var wellKnown = []reflect.Type{
	reflect.TypeFor[time.Time](), reflect.TypeFor[url.URL](), reflect.TypeFor[net.IP](),
	reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](),
}

func (w *typeWalk) enter(t reflect.Type) error {
	switch {
	case t == nil:
		return w.fail("an alias is nil")
	case w.done[t]:
		return nil
	case slices.Contains(w.open, t):
		return w.fail(fmt.Sprintf("type %s contains itself; describe the tool by hand or give the type a JSONSchema method",
			t))
	}
	w.open = append(w.open, t)
	defer w.leave()
	if err := w.inside(t); err != nil {
		return err
	}
	w.done[t] = true
	return nil
}

func (w *typeWalk) leave() { w.open = w.open[:len(w.open)-1] }

func (w *typeWalk) inside(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		return w.enter(t.Elem())
	}
	if t.Implements(aliased) {
		alias := reflect.New(t).Interface().(interface{ JSONSchemaAlias() any }).JSONSchemaAlias()
		return w.enter(reflect.TypeOf(alias))
	}
	if t.Implements(selfDescribing) || t.Implements(protoEnum) || slices.Contains(wellKnown, t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return w.fields(t)
	case reflect.Slice, reflect.Array:
		return w.at("[]", t.Elem())
	case reflect.Map:
		return w.at("{}", t.Elem())
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return w.fail(fmt.Sprintf("type %s has no JSON form", t))
	}
	return nil
}

func (w *typeWalk) fields(t reflect.Type) error {
	alias := func(string) any { return nil }
	if t.Implements(aliasedProperty) {
		alias = reflect.New(t).Interface().(interface{ JSONSchemaProperty(string) any }).JSONSchemaProperty
	}
	for i := range t.NumField() {
		if err := w.field(t.Field(i), alias); err != nil {
			return err
		}
	}
	return nil
}

func (w *typeWalk) field(f reflect.StructField, alias func(name string) any) error {
	name, flags, _ := strings.Cut(f.Tag.Get("json"), ",")
	schemaTag, _, _ := strings.Cut(f.Tag.Get("jsonschema"), ",")
	if name == "-" || schemaTag == "-" {
		return nil
	}
	inner := f.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	embedded := f.Anonymous && name == "" && inner.Kind() == reflect.Struct
	if embedded || slices.Contains(strings.Split(flags, ","), "inline") {
		return w.flattened(inner)
	}
	if !f.Anonymous && !f.IsExported() {
		return nil
	}
	if name == "" {
		name = f.Name
	}
	if err := checkTag(f); err != nil {
		return fmt.Errorf("at %s: %w", strings.TrimPrefix(strings.Join(w.path, "")+"."+name, "."), err)
	}
	if a := alias(name); a != nil {
		return w.at("."+name, reflect.TypeOf(a))
	}
	return w.at("."+name, f.Type)
}

// flattened walks the fields of a struct that become fields of the struct it is in.
func (w *typeWalk) flattened(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	if slices.Contains(w.open, t) {
		return w.fail(fmt.Sprintf("type %s embeds itself", t))
	}
	w.open = append(w.open, t)
	defer w.leave()
	return w.fields(t)
}

func (w *typeWalk) at(step string, t reflect.Type) error {
	w.path = append(w.path, step)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return w.enter(t)
}

func (w *typeWalk) fail(what string) error {
	at := strings.TrimPrefix(strings.Join(w.path, ""), ".")
	if at == "" {
		return errors.New(what)
	}
	return fmt.Errorf("at %s: %s", at, what)
}
