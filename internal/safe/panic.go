// Package safe turns panics of user code into errors.
//
// Every package that calls code it did not write (nodes, tools, handlers, converters, serializers) uses it at the
// place of the call, so that one faulty function ends one run and never the process.
// It must never swallow a panic: whatever is recovered is returned to the caller as a [PanicError].
package safe

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a recovered panic together with the stack of the goroutine that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// NewPanicError wraps the value of a recovered panic. A value that is a [PanicError] already, because it was
// recovered and thrown again on its way up, is returned unchanged: its stack is the one that tells something.
func NewPanicError(value any, stack []byte) error {
	if err, ok := value.(*PanicError); ok {
		return err
	}
	return &PanicError{Value: value, Stack: stack}
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic error: %v, \nstack: %s", e.Value, e.Stack)
}

// Unwrap returns the panic value if it is an error, so that errors.Is and errors.As see through the panic.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Recover stores the panic in flight, if there is one, in *err. It must be deferred directly:
//
//	defer safe.Recover(&err)
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = NewPanicError(v, debug.Stack())
	}
}
