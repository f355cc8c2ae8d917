package tool

import (
	"context"

	"github.com/weftgo/weft/internal/core"
)

// Interrupt returns the error with which a tool stops the run, to be continued when the application resumes it: a
// question to the user, an approval, a result that comes later. The run ends with info for the application; it is not
// stored. When the run is resumed the tool is called again with the same arguments.
//
//	if target, hasAnswer, answer := tool.GetResumeContext[string](ctx); target && hasAnswer {
//		return answer, nil
//	}
//	return "", tool.Interrupt(ctx, "Which city?")
func Interrupt(ctx context.Context, info any) error {
	return StatefulInterrupt(ctx, info, nil)
}

// StatefulInterrupt is [Interrupt] that keeps a state for the tool, which finds it with [GetInterruptState] when it is
// called again. The state goes into the checkpoint, so its type must be registered for serialization.
func StatefulInterrupt(ctx context.Context, info any, state any) error {
	return CompositeInterrupt(ctx, info, state)
}

// CompositeInterrupt is [StatefulInterrupt] for a tool that runs something which was itself interrupted: errs are the
// errors that it returned, each from this package, package compose or a run. If one of them is no interrupt, the
// result is an ordinary error that wraps it.
func CompositeInterrupt(ctx context.Context, info any, state any, errs ...error) error {
	return core.CompositeInterrupt(ctx, "composite interrupt but one of the sub error is not interrupt error", info, state,
		errs...)
}

// GetInterruptState reports to a tool whether it was interrupted in the run that is now being resumed, and the state it
// kept. hasState is true only if there is one and it is a T.
func GetInterruptState[T any](ctx context.Context) (wasInterrupted bool, hasState bool, state T) {
	return core.GetInterruptState[T](ctx)
}

// GetResumeContext reports to a tool whether the run is resumed on account of it, or of something it runs, and what
// data the application gave for it. hasData is true only if there is any and it is a T. A tool that was interrupted and
// is not a target should return its interrupt again.
func GetResumeContext[T any](ctx context.Context) (isResumeTarget bool, hasData bool, data T) {
	return core.GetResumeContext[T](ctx)
}
