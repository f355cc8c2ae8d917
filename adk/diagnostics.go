package adk

import (
	"context"
	"log/slog"
)

// diagnostics tells whoever operates a program what a run has nobody to tell: what was ignored or given up, and errors
// that came too late. Without a logger it does nothing, which is the default: the library logs nothing by itself.
type diagnostics struct{ to *slog.Logger }

// warn must not be called with a lock held. A panic of the logger's handler harms nobody.
func (d diagnostics) warn(ctx context.Context, what string, details ...any) {
	if d.to == nil {
		return
	}
	_ = guardHook(func() error {
		d.to.WarnContext(ctx, what, details...)
		return nil
	})
}

// diagnosticsFrom returns those of the run around, which do nothing in a run without a runner.
func diagnosticsFrom[M MessageType](ctx context.Context) diagnostics {
	x := executionFrom[M](ctx)
	if x == nil {
		return diagnostics{}
	}
	return x.run.diagnostics
}

// warnOfDesignations tells of options that name agents but act on the whole run.
func (d diagnostics) warnOfDesignations(ctx context.Context, opts []AgentRunOption) {
	if d.to == nil {
		return
	}
	for i := range opts {
		_, ofRunner := opts[i].apply.(func(*runnerOptions))
		if len(opts[i].agents) > 0 && (ofRunner || opts[i].cancel != nil) {
			d.warn(ctx, "a run option names agents but acts on the whole run", "agents", opts[i].agents)
		}
	}
}

// warnOfTargets tells of resume targets that the saved run does not have.
func (d diagnostics) warnOfTargets(ctx context.Context, checkpoint string, targets, known map[string]any) {
	for id := range targets {
		if _, ok := known[id]; !ok {
			d.warn(ctx, "a resume target is none of the interrupt points of the saved run", "checkpoint", checkpoint, "target", id)
		}
	}
}

// warnOfLeftBehind tells of a call that a cancel did not wait for. details say which.
func (r *agentRun[M]) warnOfLeftBehind(ctx context.Context, details ...any) {
	diagnosticsFrom[M](ctx).warn(ctx, "a call was given up by a cancel and may still be running",
		append([]any{"agent", r.agent.conf.Name}, details...)...)
}
