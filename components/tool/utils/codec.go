package utils

import (
	"context"
	"errors"
	"reflect"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/internal/safe"
)

// decodeArguments makes a T of what the model wrote.
func decodeArguments[T any](ctx context.Context, t *localTool, arguments string) (input T, err error) {
	if t.options.unmarshal != nil {
		return decodeByOption[T](ctx, t, arguments)
	}
	arguments = orObject(arguments)
	if t.options.checksArguments || modelmistake.ChecksArguments(ctx) {
		if arguments, err = t.schema.checked(arguments); err != nil {
			return input, t.fail("the arguments do not fit the schema, toolName=%s, err=%w", err)
		}
	}
	input = newInstance[T]()
	if err = decodeInto(arguments, &input, newInstance[T]); err != nil {
		err = t.schema.explain(arguments, err, new(T))
		return input, t.fail("failed to unmarshal arguments in json, toolName=%s, err=%w", err)
	}
	return input, nil
}

// decodeByOption is decodeArguments by the function of [WithUnmarshalArguments].
func decodeByOption[T any](ctx context.Context, t *localTool, arguments string) (input T, err error) {
	decoded, err := protect(func() (any, error) { return t.options.unmarshal(ctx, arguments) })
	if err != nil {
		if !isProgramError(err) {
			err = &tool.ArgumentsError{Err: err}
		}
		return input, t.fail("failed to unmarshal arguments, toolName=%s, err=%w", err)
	}
	input, ok := decoded.(T)
	if !ok {
		return input, t.fail(t.kind.wrongType+", toolName=%s, expected=%T, given=%T", input, decoded)
	}
	return input, nil
}

// isProgramError reports whether an error is none that the model could mend: a panic, an interrupt, or the end of the
// call.
func isProgramError(err error) bool {
	return errors.As(err, new(*safe.PanicError)) || core.IsInterrupt(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// encodeOutput makes the text that the model reads.
func (t *localTool) encodeOutput(ctx context.Context, output any) (string, error) {
	if t.options.marshal == nil {
		text, err := protect(func() (string, error) { return marshalString(output) })
		if err != nil {
			return "", t.fail("failed to marshal output in json, toolName=%s, err=%w", err)
		}
		return text, nil
	}
	text, err := protect(func() (string, error) { return t.options.marshal(ctx, output) })
	if err != nil {
		return "", t.fail("failed to marshal output, toolName=%s, err=%w", err)
	}
	return text, nil
}

// marshalString returns a string as it is and anything else as JSON.
func marshalString(output any) (string, error) {
	if text, ok := output.(string); ok {
		return text, nil
	}
	return json.MarshalString(output)
}

// newInstance returns a T to decode into: pointers lead somewhere, maps and slices are empty and not nil. So a
// function gets usable arguments also when the model left everything out.
func newInstance[T any]() (instance T) {
	allocate(reflect.ValueOf(&instance).Elem())
	return instance
}

func allocate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		allocate(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
}
