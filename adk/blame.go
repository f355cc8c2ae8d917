package adk

import (
	"fmt"
	"runtime/debug"

	"github.com/weftgo/weft/internal/safe"
)

// guardHook runs user code and turns a panic into an error.
func guardHook(hook func() error) (err error) {
	defer safe.Recover(&err)
	return hook()
}

// blame says whose fault an error is: that of a function which the user has given. A panic of it becomes its error. It
// must be deferred directly:
//
//	defer blame("ShouldRetry", &err)
func blame(function string, err *error) {
	if v := recover(); v != nil {
		*err = safe.NewPanicError(v, debug.Stack())
	}
	if *err != nil {
		*err = fmt.Errorf("%s failed: %w", function, *err)
	}
}

// blame is the function blame for a hook of the middleware.
func (h *handler[M]) blame(hook string, err *error) {
	if v := recover(); v != nil {
		*err = safe.NewPanicError(v, debug.Stack())
	}
	if *err != nil {
		*err = h.failed(hook, *err)
	}
}

// blamePanic puts the name of a user's function that cannot return an error into its panic, which goes on. It must be
// deferred directly.
func blamePanic(function string) {
	v := recover()
	if v == nil {
		return
	}
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	panic(&safe.PanicError{Value: fmt.Errorf("%s: %w", function, err), Stack: debug.Stack()})
}
