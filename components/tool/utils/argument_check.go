package utils

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/jsonschemacheck"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/internal/wholenumber"
	"github.com/weftgo/weft/schema"
)

// WithArgumentCheck has the tool hold the arguments of every call against the schema that the model was given: required
// fields, types, enums, bounds, lengths, patterns, and unknown fields where the schema rules them out. Fields that are
// left out get the default of the schema. Arguments that do not fit are a [tool.ArgumentsError] that names each field,
// and the function is not called.
//
// Without it a tool takes what it can decode, unless the agent that runs it has ReportMistakes set, which checks the
// arguments of all of its tools made by this package. A tool with [WithUnmarshalArguments] is never checked.
func WithArgumentCheck() Option {
	return func(o *toolOptions) { o.checksArguments = true }
}

// DecodeArguments decodes the arguments of a call the way the tools of this package do, for tools that implement the
// interfaces of package tool by themselves: with a check against the schema of info if check is true or the agent that
// runs the tool has ReportMistakes set. The error is a [tool.ArgumentsError].
func DecodeArguments[T any](
	ctx context.Context, info *schema.ToolInfo, arguments string, check bool,
) (input T, err error) {
	s := argumentSchema{lazyChecker(info)}
	arguments = orObject(arguments)
	if check || modelmistake.ChecksArguments(ctx) {
		if arguments, err = s.checked(arguments); err != nil {
			return input, err
		}
	}
	if err = decodeInto(arguments, &input, func() (fresh T) { return fresh }); err != nil {
		err = s.explain(arguments, err, new(T))
	}
	return input, err
}

// orObject returns the arguments of a call, {} for none: models write nothing for a tool that requires nothing.
func orObject(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return arguments
}

// decodeInto decodes arguments. If they do not fit it tries again with integers that are written as 5.0 or 1e2, which
// they are for the schema. fresh makes what to decode into then.
func decodeInto[T any](arguments string, input *T, fresh func() T) error {
	decode := func(text string) error {
		_, err := protect(func() (struct{}, error) { return struct{}{}, json.UnmarshalString(text, input) })
		return err
	}
	err := decode(arguments)
	if err == nil || isProgramError(err) {
		return err
	}
	if plain, changed := wholenumber.Rewrite(arguments); changed {
		*input = fresh()
		if decode(plain) == nil {
			return nil
		}
	}
	return err
}

// argumentSchema holds arguments against the schema of a tool.
type argumentSchema struct {
	// checker makes the schema ready, once. It is nil if the tool has none.
	checker func() (*jsonschemacheck.Checker, error)
}

func lazyChecker(info *schema.ToolInfo) func() (*jsonschemacheck.Checker, error) {
	return sync.OnceValues(func() (*jsonschemacheck.Checker, error) {
		if info == nil {
			return nil, nil
		}
		s, err := protect(info.ToJSONSchema)
		if err != nil || s == nil {
			return nil, err
		}
		return jsonschemacheck.New(s), nil
	})
}

// checked returns the arguments with the defaults of the schema, or says what does not fit.
func (a *argumentSchema) checked(arguments string) (string, error) {
	checker, err := a.checker()
	if err != nil {
		return "", fmt.Errorf("the schema of the tool cannot be read: %w", err)
	}
	if checker == nil {
		return arguments, nil
	}
	if strings.TrimSpace(arguments) == "null" { // written like nothing at all
		arguments = "{}"
	}
	value, err := jsonschemacheck.Decode(arguments)
	if err != nil {
		return "", notJSON(err)
	}
	completed := checker.ApplyDefaults(value)
	if problems := checker.Check(value); len(problems) > 0 {
		return "", &tool.ArgumentsError{Problems: problems}
	}
	if completed {
		return json.MarshalString(value)
	}
	return arguments, nil
}

func notJSON(err error) *tool.ArgumentsError {
	return &tool.ArgumentsError{Problems: []string{"the arguments are not valid JSON: " + err.Error()}, Err: err}
}

// explain says which fields of the arguments could not be decoded: by the schema, or else by the Go type, of which
// instance is a pointer to a fresh value.
func (a *argumentSchema) explain(arguments string, cause error, instance any) error {
	if isProgramError(cause) {
		return cause
	}
	value, err := jsonschemacheck.Decode(arguments)
	if err != nil {
		return &tool.ArgumentsError{Problems: notJSON(err).Problems, Err: cause}
	}
	if checker, err := a.checker(); err == nil && checker != nil {
		if problems := checker.Check(value); len(problems) > 0 {
			return &tool.ArgumentsError{Problems: problems, Err: cause}
		}
	}
	_, err = protect(func() (struct{}, error) { return struct{}{}, stdjson.Unmarshal([]byte(arguments), instance) })
	return &tool.ArgumentsError{Problems: []string{mismatch(err, cause)}, Err: cause}
}

// mismatch names the field that has a value of another type. err is what encoding/json says, which keeps the path.
func mismatch(err, cause error) string {
	var typed *stdjson.UnmarshalTypeError
	switch {
	case errors.As(err, &typed) && typed.Field != "":
		return fmt.Sprintf("%s must be of Go type %s, and is %s", typed.Field, typed.Type, typed.Value)
	case err != nil:
		cause = err
	}
	return strings.Join(strings.Fields(cause.Error()), " ")
}
