package mcptool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ErrorKind says what failed.
type ErrorKind string

// The kinds of a [CallError].
const (
	// Connect: there is no connection, and nothing was sent.
	Connect ErrorKind = "connect"
	// List: the list of tools cannot be read.
	List ErrorKind = "list"
	// Protocol: the server answered with an error, whose code of JSON-RPC is in Code, or refused without one, or asks what
	// the protocol does not allow.
	Protocol ErrorKind = "protocol"
	// Canceled: the context has ended.
	Canceled ErrorKind = "canceled"
	// Timeout: there was no sign of life for Config.Timeout, or Config.MaxTime is over.
	Timeout ErrorKind = "timeout"
	// OutcomeUnknown: the call was sent, and no answer came that can be read, so that it may have run, or not. It was not
	// repeated.
	OutcomeUnknown ErrorKind = "outcome_unknown"
	// Unanswered: Config.Sampling or Config.Elicit refused or failed to answer what the server asks. The call has not run.
	Unanswered ErrorKind = "unanswered"
	// TooLarge: what the server sent is over a limit.
	TooLarge ErrorKind = "too_large"
)

// CallError is a failure between a [Server] and the program behind it.
type CallError struct {
	// Server is the name in the configuration.
	Server string
	// Tool is the name that the server gives the tool, "" if the error is not about one.
	Tool string
	Kind ErrorKind
	// Code is the code of JSON-RPC that the server answered with, 0 if it did not.
	Code int64
	Err  error
}

// Error is one line.
func (e *CallError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server %q: ", e.Server)
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", e.Tool)
	}
	switch e.Kind {
	case Connect:
		b.WriteString("cannot connect")
	case List:
		b.WriteString("cannot list the tools")
	case Protocol:
		if b.WriteString("the call failed"); e.Code != 0 {
			b.WriteString(", the server refused it")
		}
	case Canceled:
		b.WriteString("canceled")
	case Timeout:
		b.WriteString("the server took too long")
	case OutcomeUnknown:
		b.WriteString("the call was sent, and its answer was lost: it may have run, and was not repeated")
	case Unanswered:
		b.WriteString("a question of the server was not answered")
	case TooLarge:
		b.WriteString("too large")
	}
	if e.Err != nil {
		b.WriteString(": " + clean(oneLine(e.Err.Error())))
	}
	return b.String()
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.FieldsFunc(s, isLineBreak), " ") }

func isLineBreak(r rune) bool { return r == '\n' || r == '\r' }

// errClosed says that Close was called.
var errClosed = errors.New("the server value was closed")

// rpcError returns the error that the server itself answered with, if it did.
func rpcError(err error) (*jsonrpc.Error, bool) {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return nil, false
	}
	switch wire.Code {
	case codeClientClosing, codeServerClosing, codeRejected, // the SDK's own, for what did not reach the server
		codeOverLimit: // our own
		return nil, false
	}
	return wire, true
}

// Codes with which the SDK marks errors of its own.
const (
	codeClientClosing = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)

// unanswered is an error of ours that keeps a question from being answered.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

// fail makes the error of an operation of this server. A context that has ended decides what kind it is.
func (s *Server) fail(ctx context.Context, kind ErrorKind, tool string, err error) *CallError {
	var already *CallError
	if errors.As(err, &already) {
		return already
	}
	e := &CallError{Server: s.conf.Name, Tool: tool, Kind: kind, Err: err}
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
	case errors.Is(cause, errSilence), errors.Is(cause, errMaxTime), errors.Is(cause, context.DeadlineExceeded):
		e.Kind, e.Err = Timeout, cause
	case errors.Is(cause, errClosed):
		e.Kind, e.Err = Connect, cause
	default:
		e.Kind, e.Err = Canceled, errors.Join(cause, ctx.Err())
		if errors.Is(cause, ctx.Err()) {
			e.Err = cause
		}
	}
	if wire, ok := rpcError(err); ok && cause == nil {
		e.Code = wire.Code
	}
	return e
}
