package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// Progress reports how far a stretch has come, and nothing of the content of the run.
type Progress struct {
	// Token is the token of the lease, 0 until there is one.
	Token uint64
	// Steps counts the steps that the stretch has saved.
	Steps int
	// Tools are the names of the tools whose calls have not returned, in order. A tool that streams has returned when its
	// stream begins.
	Tools []string `json:",omitempty"`
}

// Meter measures a stretch: see [WithMeter]. The zero value works, for one stretch. It is safe for concurrent use.
type Meter struct {
	mu       sync.Mutex // guards the fields below
	token    uint64
	steps    int
	inFlight map[string]int // by the name of the tool
}

// Progress returns how far the stretch is.
func (m *Meter) Progress() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Progress{m.token, m.steps, slices.Sorted(maps.Keys(m.inFlight))}
}

// begin notes the lease of the stretch. The methods of nil do nothing.
func (m *Meter) begin(token uint64) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.token = token
	}
}

// step notes a step that was saved.
func (m *Meter) step() {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.steps++
	}
}

// call notes a call of a tool that begins (1) or has returned (-1).
func (m *Meter) call(info *callbacks.RunInfo, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inFlight == nil {
		m.inFlight = map[string]int{}
	}
	if m.inFlight[info.Name] += n; m.inFlight[info.Name] <= 0 {
		delete(m.inFlight, info.Name)
	}
}

// options are the options of a runner whose tools are measured.
func (m *Meter) options() []adk.AgentRunOption {
	if m == nil {
		return nil
	}
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			m.call(info, 1)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			m.call(info, -1)
			return ctx
		}).
		OnEndWithStreamOutputFn(func(
			ctx context.Context, info *callbacks.RunInfo, output *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			output.Close()
			m.call(info, -1)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			m.call(info, -1)
			return ctx
		}).Build()
	return []adk.AgentRunOption{adk.WithCallbacks(ofTools{handler})}
}

// ofTools is a handler that sees tools alone: no stream of a model is copied for it.
type ofTools struct{ callbacks.Handler }

// Needed implements callbacks.TimingChecker.
func (h ofTools) Needed(ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	return info != nil && info.Component == components.ComponentOfTool &&
		h.Handler.(callbacks.TimingChecker).Needed(ctx, info, timing)
}
