package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/schema"
)

// stream is a *schema.StreamReader of some type.
type stream interface{ Close() }

// kind does, for values and streams of one type, what the engine has to do without knowing the type. The engine
// moves values as any and streams as stream; a kind is made where the type is still known and keeps everything on
// typed readers, so that no chunk is boxed on its way between two nodes of the same type.
type kind interface {
	Type() reflect.Type
	// Zero is the type's zero value; for an interface type that is an untyped nil.
	Zero() any
	// Check returns v if it is a value of the type; an untyped nil becomes the type's own nil.
	Check(v any) (any, error)
	// Single is a stream of the one chunk v.
	Single(v any) (stream, error)
	// Empty is a stream without a chunk.
	Empty() stream
	// Concat reads s to its end, closes it and joins the chunks.
	Concat(s stream) (any, error)
	Copy(s stream, n int) []stream
	// Merge interleaves. With names every end of a source is reported as a schema.SourceEOF.
	Merge(ss []stream, names []string) stream
	// Untyped views s as a stream of any.
	Untyped(s stream) *schema.StreamReader[any]
	// Typed views a stream of any as one of the type; convert gives each chunk its value.
	Typed(s *schema.StreamReader[any], convert func(any) (any, error)) stream
	// WithKey wraps each chunk as map[string]any{key: chunk}.
	WithKey(s stream, key string) *schema.StreamReader[map[string]any]
	// FromKey is WithKey backwards: chunks without the key are dropped.
	FromKey(s *schema.StreamReader[map[string]any], key string) stream
	// ReportStart and ReportEnd fire the callbacks of a stream and return the stream to continue with.
	ReportStart(ctx context.Context, s stream) (context.Context, stream, error)
	ReportEnd(ctx context.Context, s stream) (stream, error)
}

// kindOf is the kind of T. It has no size: an interface that holds it costs nothing.
type kindOf[T any] struct{}

func (kindOf[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

func (kindOf[T]) Zero() any {
	var zero T
	return zero
}

func (kindOf[T]) Check(v any) (any, error) {
	if _, ok := v.(T); ok {
		return v, nil
	}
	if v == nil && nilable(reflect.TypeFor[T]()) {
		var zero T
		return zero, nil
	}
	var want T
	return nil, fmt.Errorf("runtime type check fail, expected type: %T, actual type: %T", want, v)
}

// valueAs converts an input of the engine for typed code.
func valueAs[T any](v any) (T, error) {
	if t, ok := v.(T); ok {
		return t, nil
	}
	var zero T
	if v == nil && nilable(reflect.TypeFor[T]()) {
		return zero, nil
	}
	return zero, fmt.Errorf("unexpected input type. expected: %v, got: %v", reflect.TypeFor[T](), reflect.TypeOf(v))
}

func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return false
}

// streamAs is valueAs for streams.
func streamAs[T any](s stream) (*schema.StreamReader[T], error) {
	if t, ok := s.(*schema.StreamReader[T]); ok {
		return t, nil
	}
	return nil, fmt.Errorf("unexpected input type. expected: %v, got: %T", reflect.TypeFor[*schema.StreamReader[T]](), s)
}

func singleOf[T any](v T) *schema.StreamReader[T] { return schema.StreamReaderFromArray([]T{v}) }

func (kindOf[T]) Single(v any) (stream, error) {
	t, err := valueAs[T](v)
	if err != nil {
		return nil, err
	}
	return singleOf(t), nil
}

func (kindOf[T]) Empty() stream { return schema.StreamReaderFromArray[T](nil) }

func (kindOf[T]) Concat(s stream) (any, error) {
	sr, err := streamAs[T](s)
	if err != nil {
		return nil, err
	}
	return concatStream(sr)
}

// errEmptyStream is the error of joining a stream without a chunk.
var errEmptyStream = errors.New("stream reader is empty, concat fail")

// concatStream reads sr to its end, closes it and joins the chunks by the rules of their type.
func concatStream[T any](sr *schema.StreamReader[T]) (T, error) {
	defer sr.Close()
	var first T
	var chunks []T
	for n := 0; ; {
		chunk, err := sr.Recv()
		if err == io.EOF {
			switch n {
			case 0:
				return first, errEmptyStream
			case 1:
				return first, nil
			}
			return concat.Items(chunks)
		}
		if err != nil {
			if _, ended := schema.GetSourceName(err); ended {
				continue
			}
			return first, fmt.Errorf("failed to read from stream. error: %w", err)
		}
		switch n++; n {
		case 1:
			first = chunk
		case 2:
			chunks = append(make([]T, 0, 8), first, chunk)
		default:
			chunks = append(chunks, chunk)
		}
	}
}

// joinStream is concatStream for the places where a node's form needs a value and gets a stream.
func joinStream[T any](sr *schema.StreamReader[T]) (T, error) {
	v, err := concatStream(sr)
	if err != nil {
		err = fmt.Errorf("concat stream reader fail: %w", err)
	}
	return v, err
}

func (kindOf[T]) Copy(s stream, n int) []stream {
	copies := s.(*schema.StreamReader[T]).Copy(n)
	out := make([]stream, len(copies))
	for i, c := range copies {
		out[i] = c
	}
	return out
}

func (kindOf[T]) Merge(ss []stream, names []string) stream {
	typed := make([]*schema.StreamReader[T], len(ss))
	for i, s := range ss {
		typed[i] = s.(*schema.StreamReader[T])
	}
	if names != nil {
		return schema.InternalMergeNamedStreamReaders(typed, names)
	}
	return schema.MergeStreamReaders(typed)
}

func (kindOf[T]) Untyped(s stream) *schema.StreamReader[any] {
	if untyped, ok := s.(*schema.StreamReader[any]); ok {
		return untyped
	}
	return schema.StreamReaderWithConvert(s.(*schema.StreamReader[T]), func(v T) (any, error) { return v, nil })
}

func (kindOf[T]) Typed(s *schema.StreamReader[any], convert func(any) (any, error)) stream {
	return schema.StreamReaderWithConvert(s, func(v any) (T, error) {
		var zero T
		v, err := convert(v)
		if err != nil {
			return zero, err
		}
		return valueAs[T](v)
	})
}

func (kindOf[T]) WithKey(s stream, key string) *schema.StreamReader[map[string]any] {
	return schema.StreamReaderWithConvert(s.(*schema.StreamReader[T]), func(v T) (map[string]any, error) {
		return map[string]any{key: v}, nil
	})
}

func (kindOf[T]) FromKey(s *schema.StreamReader[map[string]any], key string) stream {
	return schema.StreamReaderWithConvert(s, func(m map[string]any) (T, error) {
		v, ok := m[key]
		if !ok {
			var none T
			return none, schema.ErrNoValue
		}
		t, err := valueAs[T](v)
		if err != nil {
			err = fmt.Errorf("key[%s]'s value type[%T] isn't expected type[%s]", key, v, reflect.TypeFor[T]())
		}
		return t, err
	})
}

func (kindOf[T]) ReportStart(ctx context.Context, s stream) (context.Context, stream, error) {
	return widened(reportStartStream(ctx, s.(*schema.StreamReader[T])))
}

func widened[T any](ctx context.Context, s *schema.StreamReader[T], err error) (context.Context, stream, error) {
	return ctx, s, err
}

func (kindOf[T]) ReportEnd(ctx context.Context, s stream) (stream, error) {
	return opened(reportEndStream(ctx, s.(*schema.StreamReader[T]), nil))
}

// keyed is the kind of inputs and outputs that go through a key.
var keyed kind = kindOf[map[string]any]{}
