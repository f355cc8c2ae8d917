package serialization

import (
	"errors"
	"reflect"
	"unsafe"
)

const (
	trackDepth = 100   // from where on a walk is done again, looking for cycles
	maxDepth   = 10000 // of any value
)

var (
	errDeep    = errors.New("nested deeply")
	errTooDeep = errors.New("nested too deeply")
	errCycle   = errors.New("cycle: the value contains itself")
)

// nesting holds the values that a walk through a value is inside of. It is cheap as long as nothing is deep: then the
// walk fails with errDeep and has to be done again with track.
type nesting struct {
	depth int
	seen  map[visit]bool
}

// A visit is a pointer, map or slice on the way.
type visit struct {
	ptr unsafe.Pointer
	len int
	typ reflect.Type
}

func visitOf(v reflect.Value) visit {
	at := visit{ptr: v.UnsafePointer(), typ: v.Type()}
	if v.Kind() == reflect.Slice {
		at.len = v.Len()
	}
	return at
}

func (n *nesting) track() { *n = nesting{seen: map[visit]bool{}} }

// enter is called before going into the pointer, map or slice v, leave after.
func (n *nesting) enter(v reflect.Value) error {
	n.depth++
	if n.seen == nil {
		if n.depth > trackDepth {
			return errDeep
		}
		return nil
	}
	at := visitOf(v)
	if n.seen[at] {
		return errCycle
	}
	if n.depth > maxDepth {
		return errTooDeep
	}
	n.seen[at] = true
	return nil
}

func (n *nesting) leave(v reflect.Value) {
	n.depth--
	if n.seen != nil {
		delete(n.seen, visitOf(v))
	}
}
