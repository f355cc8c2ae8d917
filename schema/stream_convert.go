package schema

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"

	"github.com/weftgo/weft/internal/pull"
	"github.com/weftgo/weft/internal/safe"
)

// ErrNoValue is returned by the function of [StreamReaderWithConvert] to leave an element out.
var ErrNoValue = errors.New("no value")

type convertOptions struct {
	errWrapper func(error) error
	onEOF      func() (any, error)
}

// ConvertOption configures [StreamReaderWithConvert].
type ConvertOption func(*convertOptions)

// WithErrWrapper has the error items of the source replaced by what wrapper makes of them; if that is nil the item is
// left out. Errors of the convert function and the end of the stream are not passed to it.
func WithErrWrapper(wrapper func(error) error) ConvertOption {
	return func(o *convertOptions) { o.errWrapper = wrapper }
}

// WithOnEOF has fn called once, in the consumer's Recv, when the source has ended; it may block. It may return a last
// value, which must be assignable to the element type (nil stands for the zero value), an error to be delivered as the
// last item, or io.EOF for nothing more. fn is not called if the consumer stops before the end.
func WithOnEOF(fn func() (any, error)) ConvertOption {
	return func(o *convertOptions) { o.onEOF = fn }
}

// StreamReaderWithConvert returns a reader that yields what convert makes of the elements of sr, and takes sr over.
// convert runs inside Recv, once for each element. It may leave an element out by returning [ErrNoValue] (also
// wrapped); another error is delivered with the value, and the stream continues. Error items of sr are passed on
// without their value. A panic in convert or an option's function becomes an error item and ends the stream. Closing
// the reader closes sr.
func StreamReaderWithConvert[T, D any](
	sr *StreamReader[T], convert func(T) (D, error), opts ...ConvertOption,
) *StreamReader[D] {
	src, auto := sr.take()
	c := &converter[T, D]{src: src, convert: convert}
	for _, opt := range opts {
		if opt != nil {
			opt(&c.options)
		}
	}
	converted := newReader[D](c)
	if auto {
		converted.SetAutomaticClose()
	}
	return converted
}

// A converter is the stage of a stream that runs a convert function.
type converter[T, D any] struct {
	src     pull.Source[T]
	convert func(T) (D, error)
	options convertOptions
	ended   bool
}

func (c *converter[T, D]) Poll(w pull.Waker) (out pull.Item[D], ok bool) {
	for !c.ended {
		in, ok := c.src.Poll(w)
		if !ok {
			return out, false
		}
		if out, ok = c.step(in); ok {
			return out, true
		}
	}
	return pull.Item[D]{Err: io.EOF}, true
}

// step makes an item of the source into one of this stage; ok is false if nothing is left of it.
func (c *converter[T, D]) step(in pull.Item[T]) (out pull.Item[D], ok bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		c.ended = true
		if v := recover(); v != nil { // otherwise the goroutine is exiting
			out, ok = pull.Item[D]{Err: safe.NewPanicError(v, debug.Stack())}, true
		}
	}()
	out, ok = c.apply(in)
	returned = true
	return out, ok
}

func (c *converter[T, D]) apply(in pull.Item[T]) (out pull.Item[D], ok bool) {
	switch {
	case in.Err == nil:
		out.Value, out.Err = c.convert(in.Value)
		return out, out.Err == nil || !errors.Is(out.Err, ErrNoValue)
	case in.Err == io.EOF:
		c.ended = true
		return c.end(), true
	case in.Err == pull.ErrClosed:
		c.ended = true
		return pull.Item[D]{Err: in.Err}, true
	case c.options.errWrapper != nil:
		out.Err = c.options.errWrapper(in.Err)
		return out, out.Err != nil
	}
	return pull.Item[D]{Err: in.Err}, true
}

// end is the item at the end of the source.
func (c *converter[T, D]) end() pull.Item[D] {
	if c.options.onEOF == nil {
		return pull.Item[D]{Err: io.EOF}
	}
	return c.askedEnd()
}

// askedEnd is the item that the user's function makes of the end.
func (c *converter[T, D]) askedEnd() (out pull.Item[D]) {
	v, err := c.options.onEOF()
	if err != nil || v == nil {
		return pull.Item[D]{Err: err}
	}
	if !reflect.TypeOf(v).AssignableTo(reflect.TypeFor[D]()) {
		return pull.Item[D]{Err: fmt.Errorf("WithOnEOF: %T is not assignable to %s", v, reflect.TypeFor[D]())}
	}
	reflect.ValueOf(&out.Value).Elem().Set(reflect.ValueOf(v))
	return out
}

func (c *converter[T, D]) Prompt() bool { return false }

// Watch watches the stage before, see [pull.Watchable].
func (c *converter[T, D]) Watch(look func(end bool)) bool { return pull.Watch(c.src, look) }

func (c *converter[T, D]) Close() { c.src.Close() }

func (c *converter[T, D]) Producer() pull.Closer { return c.src.Producer() }
