// Package concat joins the chunks of a stream into one value.
//
// It keeps the registry of join functions by type, which package schema fills with its message types and package compose
// opens to users, and the general rules for maps and for types that are not registered. It must never change a chunk,
// never let the panic of a join function through, and never depend on map order.
package concat

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weftgo/weft/internal/registry"
	"github.com/weftgo/weft/internal/safe"
)

// joins are the join functions by type.
var joins registry.Map[reflect.Type, entry]

// entry is one join function in the two forms it is called in.
type entry struct {
	typed any // func([]T) (T, error)
	boxed func([]any) (any, error)
}

// Register makes fn the function that joins two or more values of exactly type T. It replaces an earlier function,
// also a built-in one. It is safe at any time, and panics if fn is nil.
func Register[T any](fn func([]T) (T, error)) {
	if fn == nil {
		panic(fmt.Sprintf("concat: nil function registered for %v", reflect.TypeFor[T]()))
	}
	joins.Set(reflect.TypeFor[T](), newEntry(fn))
}

func newEntry[T any](fn func([]T) (T, error)) entry {
	return entry{
		typed: fn,
		boxed: func(values []any) (any, error) {
			items := make([]T, len(values))
			for i, v := range values {
				items[i] = v.(T)
			}
			return call(fn, items)
		},
	}
}

func lookup(t reflect.Type) (entry, bool) { return joins.Get(t) }

// call runs a join function, which may be a user's, and turns a panic of it into an error.
func call[T any](fn func([]T) (T, error), items []T) (joined T, err error) {
	defer safe.Recover(&err)
	return fn(items)
}

func init() {
	Register(func(items []string) (string, error) { return strings.Join(items, ""), nil })
	Register(last[bool])
	Register(last[int])
	Register(last[int8])
	Register(last[int16])
	Register(last[int32])
	Register(last[int64])
	Register(last[uint])
	Register(last[uint8])
	Register(last[uint16])
	Register(last[uint32])
	Register(last[uint64])
	Register(last[float32])
	Register(last[float64])
	Register(last[time.Time])
	Register(last[time.Duration])
}

func last[T any](items []T) (T, error) { return items[len(items)-1], nil }
