package adk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// diagnosticsFrom returns the diagnostics of the run around, which do nothing in a run without a runner.
func diagnosticsFrom[M MessageType](ctx context.Context) diagnostics {
	x := executionFrom[M](ctx)
	if x == nil {
		return diagnostics{}
	}
	return x.run.diagnostics
}

// warnOfDesignations logs options that name agents but act on the whole run.
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

// warnOfToolNames reports tools of the agent that share a name, once for each list of tools.
func (r *agentRun[M]) warnOfToolNames() {
	d, g := diagnosticsFrom[M](r), r.graph
	if d.to == nil || len(g.shadowed) == 0 || g.warned.Swap(true) {
		return
	}
	for first, last := range g.shadowed {
		d.warn(r, "two tools have the same name: the model is shown the later one, and calls that",
			"agent", r.agent.conf.Name, "tool", g.infos[first].Name, "ignored", g.describe(first), "used", g.describe(last))
	}
}

// describe says which of several tools of one name it is.
func (g *reactGraph[M]) describe(i int) string {
	return fmt.Sprintf("tool %d, %T: %s", i, g.tools[i], g.infos[i].Desc)
}

// warnOfAgentNames reports agents around the agent that share a name, once for each agent.
func (x *execution[M]) warnOfAgentNames() {
	d, f := x.run.diagnostics, x.flow
	if d.to == nil || f == nil || f.warned.Swap(true) {
		return
	}
	_ = guardHook(func() error { // names are the users' code
		x.compareNames(d, f)
		return nil
	})
}

func (x *execution[M]) compareNames(d diagnostics, f *flowAgent) {
	around := slices.Clone(f.subAgents)
	if parent := f.parentAgent(); parent != nil && !f.sealed {
		around = append(around, parent)
	}
	first := map[string]*flowAgent{}
	for _, a := range around {
		name := a.Name(x)
		if other := first[name]; other != nil {
			d.warn(x, "two agents have the same name: a transfer goes to the first one", "agent", x.name, "name", name,
				"first", fmt.Sprintf("%T: %s", other.agent, other.Description(x)),
				"other", fmt.Sprintf("%T: %s", a.agent, a.Description(x)))
			continue
		}
		first[name] = a
	}
}

// warnOfLeftBehind logs a call that a cancel did not wait for. details say which.
func (r *agentRun[M]) warnOfLeftBehind(ctx context.Context, details ...any) {
	diagnosticsFrom[M](ctx).warn(ctx, "a call was given up by a cancel and may still be running",
		append([]any{"agent", r.agent.conf.Name}, details...)...)
}
