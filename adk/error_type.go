package adk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/runs"
)

// ErrorType returns one of few words for an error, for traces, metrics and logs, which must not hold its text: "" for nil,
// and otherwise
//
//   - what a method ErrorType() string of it says: the HTTP status of a provider ("429"), budget_exceeded, timeout, …
//   - canceled, timeout, max_iterations, retries_exhausted, panic
//   - unknown_tool, invalid_arguments, unknown_agent: mistakes of a model
//   - lease_lost: another process has the run; connection: an error of the network
//   - the Go type of the innermost error that has one of its own, such as *fs.PathError, else _OTHER
func ErrorType(err error) string {
	if err == nil {
		return ""
	}
	var own interface{ ErrorType() string }
	var mistake *ModelMistake
	var network net.Error
	switch {
	case errors.As(err, new(*CancelError)), errors.Is(err, context.Canceled), errors.Is(err, ErrStreamCanceled):
		return "canceled"
	case errors.As(err, &own) && own.ErrorType() != "":
		return own.ErrorType()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrExceedMaxIterations):
		return "max_iterations"
	case errors.Is(err, ErrExceedMaxRetries):
		return "retries_exhausted"
	case errors.As(err, new(*safe.PanicError)):
		return "panic"
	case errors.As(err, &mistake):
		return mistakeTypes[mistake.Kind]
	case errors.As(err, new(*tool.ArgumentsError)):
		return mistakeTypes[MistakeArguments]
	case errors.Is(err, runs.ErrLeaseLost):
		return "lease_lost"
	case errors.Is(err, runs.ErrNotSaved):
		return "store"
	case errors.As(err, &network):
		return "connection"
	}
	name := "_OTHER"
	for ; err != nil; err = errors.Unwrap(err) {
		switch t := fmt.Sprintf("%T", err); {
		case strings.HasPrefix(t, "*errors."), strings.HasPrefix(t, "*fmt."), strings.HasPrefix(t, "*compose."),
			t == "*utils.ToolError": // what only says where an error was
		default:
			name = t
		}
	}
	return name
}

var mistakeTypes = map[MistakeKind]string{
	MistakeUnknownTool: "unknown_tool",
	MistakeArguments:   "invalid_arguments",
	MistakeTransfer:    "unknown_agent",
}

// IsInterrupt reports whether an error is the signal of an interrupt, which callback handlers get instead of a result.
func IsInterrupt(err error) bool {
	if _, interrupted := compose.IsInterruptRerunError(err); interrupted {
		return true
	}
	_, interrupted := compose.ExtractInterruptInfo(err)
	return interrupted
}
