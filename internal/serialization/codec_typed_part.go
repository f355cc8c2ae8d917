package serialization

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/weftgo/weft/internal/json"
)

// typedParts are the parts of types whose own JSON loses the types of values in them: reflect.Type → typedPart.
var typedParts sync.Map

// typedPart finds the part in a value.
type typedPart func(v reflect.Value) *map[string]any

// RegisterTypedPart names a map of T, a type with methods for JSON, that is written once more beside that JSON, with its
// types, if JSON would lose some. It is to be called while the program is initialized.
func RegisterTypedPart[T any](part func(*T) *map[string]any) {
	typedParts.Store(reflect.TypeFor[T](), typedPart(func(v reflect.Value) *map[string]any { return part(methods[*T](v)) }))
}

// typedMember is the member that the part is written as. A reader that does not know it has the types that JSON has: so
// do releases that are older than it, and what they wrote lacks it.
const typedMember = `"_weft_typed":`

// typedPartCodec is jsonCodec for a type that has such a part.
type typedPartCodec struct{ part typedPart }

func (c typedPartCodec) encode(e *encoder, v reflect.Value) error {
	v = addressable(v)
	if err := (jsonCodec{}).encode(e, v); err != nil {
		return err
	}
	part := *c.part(v)
	plain := len(e.buf)
	if len(part) == 0 || isPlain(part) || plain == 0 || e.buf[plain-1] != '}' {
		return nil
	}
	typed := encoders.Get().(*encoder) // one that fails is not used again
	defer typed.release()
	err := typed.any(part)
	if errors.Is(err, errDeep) {
		typed.buf = typed.buf[:0]
		typed.track()
		err = typed.any(part)
	}
	if err != nil { // such as of a type that is not registered: it stays what JSON has made of it
		return nil
	}
	e.buf = append(append(e.buf[:plain-1], ','), typedMember...)
	e.buf = append(append(e.buf, typed.buf...), '}')
	return nil
}

func (c typedPartCodec) decode(d *decoder, v reflect.Value) error {
	start := d.pos
	if err := (jsonCodec{}).decode(d, v); err != nil {
		return err
	}
	text := d.data[start:d.pos]
	if !bytes.Contains(text, []byte(typedMember)) {
		return nil
	}
	var beside struct {
		Typed stdjson.RawMessage `json:"_weft_typed"`
	}
	if err := json.Unmarshal(text, &beside); err != nil || len(beside.Typed) == 0 {
		return err
	}
	typed := &decoder{data: beside.Typed, depth: d.depth}
	value, err := typed.any()
	if err != nil {
		return err
	}
	part, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the values with types of %s are a %T, and no map", v.Type(), value)
	}
	*c.part(v) = part
	return nil
}

// isPlain reports whether a value is what JSON makes of it.
func isPlain(v any) bool {
	switch v := v.(type) {
	case nil, bool, float64:
		return true
	case string:
		return utf8.ValidString(v)
	case map[string]any:
		for _, value := range v {
			if !isPlain(value) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, value := range v {
			if !isPlain(value) {
				return false
			}
		}
		return v != nil
	}
	return false
}
