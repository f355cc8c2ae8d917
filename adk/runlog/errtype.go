package runlog

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// errInterrupted is the Type of an [Err] that is none: what was called asked a question, and continues with the answer.
const errInterrupted = "interrupted"

// ErrorType names an error, with one of few words: the HTTP status of a provider as text, "canceled", "timeout",
// "interrupted", "max_iterations", "retries_exhausted", "panic", "invalid_arguments", "outcome_unknown", "store",
// "connection", or else "_OTHER".
func ErrorType(err error) string {
	var (
		status    interface{ HTTPStatus() int }
		cancelled *adk.CancelError
		exhausted *adk.RetryExhaustedError
		mistake   *adk.ModelMistake
		panicked  *safe.PanicError
		arguments *tool.ArgumentsError
		network   net.Error
	)
	switch {
	case err == nil:
		return ""
	case core.IsInterrupt(err) || errors.Is(err, compose.ErrToolCallGivenUp):
		return errInterrupted
	case errors.As(err, &status) && status.HTTPStatus() != 0:
		return strconv.Itoa(status.HTTPStatus())
	case errors.As(err, &cancelled), errors.Is(err, context.Canceled), errors.Is(err, adk.ErrStreamCanceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, adk.ErrExceedMaxIterations):
		return "max_iterations"
	case errors.As(err, &exhausted):
		return "retries_exhausted"
	case errors.As(err, &panicked):
		return "panic"
	case errors.As(err, &arguments), errors.As(err, &mistake):
		return "invalid_arguments"
	case errors.Is(err, core.ErrLeaseLost):
		return "store"
	case errors.Is(err, schema.ErrRecvAfterClosed):
		return "abandoned"
	case errors.As(err, &network):
		return "connection"
	}
	return "_OTHER"
}

// errOf is an error for an event, nil for nil.
func errOf(err error) *Err {
	if err == nil {
		return nil
	}
	e := &Err{Type: ErrorType(err)}
	if guard(func() error { e.Message = err.Error(); return nil }) != nil {
		e.Message = "its text panics"
	}
	return e
}
