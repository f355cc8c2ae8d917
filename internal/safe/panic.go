// Package safe turns panics of user code into errors.
//
// Every package that calls code it did not write (nodes, tools, handlers, converters, serializers) uses it at the
// place of the call, so that one faulty function ends one run and never the process. [Same] is for what panics in the
// language itself: comparing values of any type.
// It must never swallow a panic: whatever is recovered is returned to the caller as a [PanicError].
package safe

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// PanicError is a recovered panic: what was thrown, and the stack of the goroutine that threw it. The stack is not in
// its text, which is one line.
type PanicError struct {
	Value any
	Stack []byte
}

// NewPanicError wraps the value of a recovered panic. A value that is a [PanicError] already, because it was
// recovered and thrown again on its way up, is returned unchanged: its stack is the one that shows the cause. An error
// that is not [Sound] is replaced by its text.
func NewPanicError(value any, stack []byte) error {
	switch v := value.(type) {
	case *PanicError:
		return v
	case error:
		value = Sound(v)
	}
	return &PanicError{Value: value, Stack: stack}
}

func (e *PanicError) Error() string {
	text := fmt.Sprint(e.Value)
	if strings.Contains(text, "\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	return "panic error: " + text
}

// Unwrap returns the panic value if it is an error, so that errors.Is and errors.As see through the panic.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Sound returns an error that code of users made. If looking into it panics, as it does for a nil pointer with a method
// Unwrap, an error with its text is returned in its place: errors.Is and errors.As are called where a panic could not
// be distinguished from another one, or would end the process.
func Sound(err error) (sound error) {
	if err == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			sound = fmt.Errorf("%v (an error of type %T that panics when it is looked into: %v)", err, err, v)
		}
	}()
	_ = errors.Is(err, errProbe)
	var probe *probeError
	_ = errors.As(err, &probe)
	return err
}

// A probeError is in no chain of errors: to look for one is to look at all of it.
type probeError struct{}

func (*probeError) Error() string { return "" }

var errProbe error = &probeError{}

// Recover stores the panic in flight, if there is one, in *err. It must be deferred directly:
//
//	defer safe.Recover(&err)
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = NewPanicError(v, debug.Stack())
	}
}
