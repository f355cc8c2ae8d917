package adk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/internal/backoff"
)

// contextEnd is why ctx has ended, nil while it has not: its error, with the cause of the caller's own if there is one.
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
