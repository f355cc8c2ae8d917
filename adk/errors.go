package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/weftgo/weft/internal/backoff"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
)

// guardHook runs user code and turns a panic into an error.
func guardHook(hook func() error) (err error) {
	defer safe.Recover(&err)
	return hook()
}

// blame wraps an error with the name of the user's function that caused it. A panic of the function becomes its error. It
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

// blamePanic puts the name of a user's function that cannot return an error into its panic, which is passed on. It must
// be deferred directly.
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

// contextEnd is the reason for which ctx has ended, nil while it has not: its error, with the cause of the caller's own if
// there is one.
func contextEnd(ctx context.Context) error {
	ended, cause := ctx.Err(), context.Cause(ctx)
	if ended == nil || errors.Is(cause, ended) {
		return cause
	}
	return fmt.Errorf("%w: %w", ended, cause)
}

// withContextEnd is err of code that has failed because ctx has ended, and did not say why that was.
func withContextEnd(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended == nil || !errors.Is(err, ended) {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// endsLater returns a context that ends some time after ctx does, for what is about to be done when ctx ends.
func endsLater(ctx context.Context, after time.Duration) (later context.Context, stop func()) {
	if ctx.Done() == nil {
		return ctx, noRelease
	}
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		_ = backoff.Wait(later, after)
		cancel(context.Cause(ctx))
	})
	return later, func() {
		forget()
		cancel(nil)
	}
}

func noRelease() {}

var errCallEnded = errors.New("the call ended its goroutine (runtime.Goexit)")

// errStopped says that a call was given up because the run is to stop at once.
var errStopped = errors.New("the call was given up because the run was cancelled")

// errLeftBehind is errStopped for a call that has not ended by then.
var errLeftBehind = fmt.Errorf("%w, and may still be running", errStopped)

// isFinal reports whether an error is none of the model: interrupts, and streams that a cancel has ended.
func isFinal(err error) bool {
	return errors.Is(err, ErrStreamCanceled) || errors.Is(err, errStopped) || core.IsInterrupt(err)
}
