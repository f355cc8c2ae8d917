package serialization

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A type is written as a Go type expression in which named types are predeclared ones or names of the registry, the
// latter quoted if they could be read otherwise: int, *_eino_message, map[string][]any, []"my type".

var builtins = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "string": reflect.TypeFor[string](), "any": reflect.TypeFor[any](),
	"int": reflect.TypeFor[int](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](), "uint": reflect.TypeFor[uint](),
	"uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](),
	"uint64": reflect.TypeFor[uint64](), "uintptr": reflect.TypeFor[uintptr](), "float32": reflect.TypeFor[float32](),
	"float64": reflect.TypeFor[float64](), "complex64": reflect.TypeFor[complex64](),
	"complex128": reflect.TypeFor[complex128](),
}

// Limits of what a type expression in foreign data may ask for.
const (
	maxTypeDepth = 100
	maxArraySize = 1 << 30 // bytes
	maxCached    = 4096    // expressions
)

// The caches hold what is found only: a type may be registered later, but never otherwise.
var (
	namesOfTypes  sync.Map // reflect.Type → string
	typesOfNames  sync.Map // string → reflect.Type
	typesOfNamesN atomic.Int32
)

// TypeName returns the name of a type for other programs: the one that it is registered with, or else the one in its Go source.
func TypeName(t reflect.Type) string {
	if name, err := typeName(t); err == nil {
		return name
	}
	return t.String()
}

// TypeNamed returns the registered type that [TypeName] has named, or an error that wraps [ErrUnknownType].
func TypeNamed(name string) (reflect.Type, error) { return typeByName([]byte(name)) }

// typeName returns the expression for t.
func typeName(t reflect.Type) (string, error) {
	if name, ok := namesOfTypes.Load(t); ok {
		return name.(string), nil
	}
	name, err := appendType(nil, t, registered())
	if err != nil {
		return "", err
	}
	namesOfTypes.Store(t, string(name))
	return string(name), nil
}

func appendType(b []byte, t reflect.Type, r *types) (_ []byte, err error) {
	if builtins[t.Name()] == t {
		return append(b, t.Name()...), nil
	}
	if t == reflect.TypeFor[any]() {
		return append(b, "any"...), nil
	}
	if name, ok := r.byType[t]; ok {
		return appendName(b, name), nil
	}
	if isOpaque(t) {
		return nil, unknownType(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		b = append(b, '*')
	case reflect.Slice:
		b = append(b, "[]"...)
	case reflect.Array:
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(t.Len()), 10)
		b = append(b, ']')
	case reflect.Map:
		if b, err = appendType(append(b, "map["...), t.Key(), r); err != nil {
			return nil, err
		}
		b = append(b, ']')
	default:
		return nil, unknownType(t)
	}
	return appendType(b, t.Elem(), r)
}

func unknownType(t reflect.Type) error {
	return fmt.Errorf("unknown type: %s: register it with schema.RegisterName", t)
}

// appendName writes a name of the registry.
func appendName(b []byte, name string) []byte {
	if builtins[name] != nil || name == "map" || bareLen(name) != len(name) {
		return strconv.AppendQuote(b, name)
	}
	return append(b, name...)
}

// bareLen is the length of what can be read as a name at the beginning of s.
func bareLen(s string) int {
	for i := range len(s) {
		if !isBare(s[i]) {
			return i
		}
	}
	return len(s)
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./-", c) >= 0
}

// typeByName returns the type that an expression stands for.
func typeByName(expr []byte) (reflect.Type, error) {
	if t, ok := typesOfNames.Load(string(expr)); ok {
		return t.(reflect.Type), nil
	}
	p := typeParser{rest: string(expr), types: registered()}
	t, err := p.parse(0)
	if err == nil && p.rest != "" {
		err = errors.New("bad type expression")
	}
	if err != nil {
		return nil, fmt.Errorf("unknown type: %q: %w", expr, err)
	}
	if typesOfNamesN.Load() < maxCached {
		typesOfNamesN.Add(1)
		typesOfNames.Store(string(expr), t)
	}
	return t, nil
}

type typeParser struct {
	rest  string
	types *types
}

func (p *typeParser) parse(depth int) (t reflect.Type, err error) {
	switch {
	case depth > maxTypeDepth:
		return nil, errors.New("type expression is nested too deeply")
	case p.eat("*"):
		if t, err = p.parse(depth + 1); err == nil {
			t = reflect.PointerTo(t)
		}
	case p.eat("[]"):
		if t, err = p.parse(depth + 1); err == nil {
			t = reflect.SliceOf(t)
		}
	case p.eat("["):
		return p.array(depth)
	case p.eat("map["):
		return p.mapping(depth)
	default:
		return p.named()
	}
	return t, err
}

func (p *typeParser) eat(prefix string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, prefix)
	return ok
}

func (p *typeParser) array(depth int) (reflect.Type, error) {
	digits, rest, ok := strings.Cut(p.rest, "]")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return nil, errors.New("bad array length")
	}
	p.rest = rest
	elem, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if size := uint64(elem.Size()); size > 0 && n > maxArraySize/size {
		return nil, errors.New("array is too big")
	}
	return reflect.ArrayOf(int(n), elem), nil
}

func (p *typeParser) mapping(depth int) (reflect.Type, error) {
	key, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.eat("]") || !key.Comparable() {
		return nil, errors.New("bad map key")
	}
	elem, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	return reflect.MapOf(key, elem), nil
}

func (p *typeParser) named() (reflect.Type, error) {
	if strings.HasPrefix(p.rest, `"`) {
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return nil, err
		}
		p.rest = p.rest[len(quoted):]
		name, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		return p.lookup(name)
	}
	n := bareLen(p.rest)
	name := p.rest[:n]
	p.rest = p.rest[n:]
	if t, ok := builtins[name]; ok {
		return t, nil
	}
	return p.lookup(name)
}

func (p *typeParser) lookup(name string) (reflect.Type, error) {
	if t, ok := p.types.byName[name]; ok {
		return t, nil
	}
	return nil, unknownTypeError(name)
}

// ErrUnknownType is matched by the errors of documents with a type that is not registered.
var ErrUnknownType = errors.New("the type is not registered")

// unknownTypeError is the name of a type that is not registered.
type unknownTypeError string

func (e unknownTypeError) Error() string {
	return fmt.Sprintf("%q is not registered: register it with schema.RegisterName", string(e))
}

func (e unknownTypeError) Is(target error) bool { return target == ErrUnknownType }
