package adk

import (
	"context"
	"log/slog"
)

// diagnostics logs what no event of a run can say: what was ignored or given up, and errors
// that came too late. Without a logger it does nothing, which is the default: the library logs nothing by itself.
type diagnostics struct{ to *slog.Logger }

// warn must not be called with a lock held. A panic of the logger's handler is caught.
func (d diagnostics) warn(ctx context.Context, what string, details ...any) {
	if d.to == nil {
		return
	}
	_ = guardHook(func() error {
		d.to.WarnContext(ctx, what, details...)
		return nil
	})
}

// answerError takes what is wrong with an answer that came as JSON.
func (d diagnostics) answerError(ctx context.Context) func(error) {
	return func(err error) { d.warn(ctx, "an answer is ignored", "error", err) }
}

// warnOfTargets logs resume targets that the saved run does not have.
func (d diagnostics) warnOfTargets(ctx context.Context, checkpoint string, targets, known map[string]any) {
	for id := range targets {
		if _, ok := known[id]; !ok {
			d.warn(ctx, "a resume target is none of the interrupt points of the saved run", "checkpoint", checkpoint, "target", id)
		}
	}
}
