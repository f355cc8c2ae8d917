package serialization

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/weftgo/weft/internal/safe"
)

// DeepCopy returns a copy of v that shares nothing with it that can be written to. It keeps what [InternalSerializer]
// would: exported fields. Unexported ones become zero, except in opaque types, which are copied by their own encoding,
// and in types of [RegisterCopy]. Functions and channels are shared. Types need not be registered. A cycle is an error
// that names the path.
func DeepCopy(v any) (copied any, err error) {
	defer safe.Recover(&err)
	var c copier
	copied, err = c.any(v)
	if errors.Is(err, errDeep) { // once more, looking for a cycle
		c.track()
		copied, err = c.any(v)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to copy: %w", describe(err, reflect.TypeOf(v)))
	}
	return copied, nil
}

// Copy is [DeepCopy] for a value whose type is known.
func Copy[T any](v T) (T, error) {
	copied, err := DeepCopy(v)
	typed, _ := copied.(T)
	return typed, err
}

// A copier walks through the value that is copied.
type copier struct{ nesting }

// any copies a value in an interface.
func (c *copier) any(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int, int64, float64, time.Time:
		return v, nil
	case map[string]any:
		return c.anyMap(v)
	case []any:
		return c.anySlice(v)
	}
	src := reflect.ValueOf(v)
	p := plans.of(src.Type())
	if p == assign {
		return v, nil
	}
	dst := reflect.New(src.Type()).Elem()
	if err := p.copy(c, dst, src); err != nil {
		return nil, err
	}
	return dst.Interface(), nil
}

func (c *copier) anyMap(src map[string]any) (any, error) {
	if src == nil {
		return src, nil
	}
	if err := c.enter(reflect.ValueOf(src)); err != nil {
		return nil, err
	}
	defer c.leave(reflect.ValueOf(src))
	dst := make(map[string]any, len(src))
	for k, v := range src {
		copied, err := c.any(v)
		if err != nil {
			return nil, atKey(err, k)
		}
		dst[k] = copied
	}
	return dst, nil
}

func (c *copier) anySlice(src []any) (any, error) {
	if src == nil {
		return src, nil
	}
	if err := c.enter(reflect.ValueOf(src)); err != nil {
		return nil, err
	}
	defer c.leave(reflect.ValueOf(src))
	dst := make([]any, len(src))
	for i, v := range src {
		copied, err := c.any(v)
		if err != nil {
			return nil, atIndex(err, i)
		}
		dst[i] = copied
	}
	return dst, nil
}
