package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

// anyRun is a run on messages of either kind.
type anyRun interface {
	// runLocal, setRunLocal and deleteRunLocal are for the run-local values.
	runLocal(ctx context.Context, key string) (value any, ok bool, err error)
	setRunLocal(ctx context.Context, key string, value any) error
	deleteRunLocal(ctx context.Context, key string) error
	// setAction remembers the action for the event of a tool result.
	setAction(ctx context.Context, key string, action *AgentAction) error
	// noteAction has the action of a call recorded with its result.
	noteAction(callID string, action *AgentAction)
	// agentToolOptions are those for an agent that runs as a tool, streaming whether it is to stream.
	agentToolOptions(name string) []AgentRunOption
	streaming() bool
	// cancelView is which cancel the run has to obey.
	cancelView() *cancelscope.View
	// scopeOf is where an agent is recorded that runs in ctx as a tool, nil if the steps of the run are not saved.
	scopeOf(ctx context.Context) *journal.Scope
	// outside is the context that the run was started with.
	outside() context.Context
	// idempotencyKey is that of a tool call of the run.
	idempotencyKey(ctx context.Context, call schema.ToolCall) string
}

type agentRunKey struct{}

// innermostRun returns the innermost run of a chat model agent, nil outside one. Code of users may bring a nil ctx.
func innermostRun(ctx context.Context) anyRun {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(agentRunKey{}).(anyRun)
	return r
}

// agentRunFrom returns the innermost run if it is one on M, else nil.
func agentRunFrom[M MessageType](ctx context.Context) *agentRun[M] {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(agentRunKey{}).(*agentRun[M])
	return r
}

// runOf is agentRunFrom for code that users may call outside a run.
func runOf[M MessageType](ctx context.Context, doing string) (*agentRun[M], error) {
	if r := agentRunFrom[M](ctx); r != nil {
		return r, nil
	}
	var none M
	return nil, fmt.Errorf("%s: there is no run of a chat model agent on %T around", doing, none)
}

var errOutsideRun = errors.New("must be called within a ChatModelAgent Run() or Resume() execution context")

func (r *agentRun[M]) runLocal(ctx context.Context, key string) (value any, ok bool, err error) {
	if !r.hasState(ctx) {
		return nil, false, errNoState
	}
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		value, ok = s.Extra[key]
		return nil
	})
	return value, ok, err
}

func (r *agentRun[M]) setRunLocal(ctx context.Context, key string, value any) error {
	if !r.hasState(ctx) {
		return errNoState
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if s.Extra == nil {
			s.Extra = map[string]any{}
		}
		s.Extra[key] = value
		return nil
	})
}

func (r *agentRun[M]) deleteRunLocal(ctx context.Context, key string) error {
	if !r.hasState(ctx) {
		return errNoState
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		delete(s.Extra, key)
		return nil
	})
}

func (r *agentRun[M]) setAction(ctx context.Context, key string, action *AgentAction) error {
	if !r.hasState(ctx) {
		return errNoState
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error { return s.setAction(key, action) })
}

var errNoState = errors.New("the run has no state yet: it gets one after BeforeAgent")

// hasState reports whether the state that ctx leads to is that of the run, and not of a run around it.
func (r *agentRun[M]) hasState(ctx context.Context) bool {
	if innermostRun(r.Context) == nil {
		return true
	}
	stateOf := func(ctx context.Context) (found *agentState[M]) {
		_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error { found = s; return nil })
		return found
	}
	return stateOf(ctx) != stateOf(r.Context)
}

// runForValues is the innermost run, whose state has what code of either kind of message may set.
func runForValues(ctx context.Context) (anyRun, error) {
	r := innermostRun(ctx)
	if r == nil {
		return nil, errOutsideRun
	}
	return r, nil
}

func (r *agentRun[M]) agentToolOptions(name string) []AgentRunOption {
	return r.options.agentTools[name]
}

func (r *agentRun[M]) streaming() bool { return r.input.EnableStreaming }

// history is what the model has seen and said up to now.
func (r *agentRun[M]) history(ctx context.Context) (messages []M, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		messages = slices.Clip(s.Messages)
		return nil
	})
	return messages, err
}

func (r *agentRun[M]) cancelView() *cancelscope.View { return r.view }

func (r *agentRun[M]) scopeOf(ctx context.Context) *journal.Scope {
	if r.durable == nil {
		return nil
	}
	if call, _ := ctx.Value(recordedCallKey{}).(*journal.Call); call != nil && call.Visit() == r.durable.visit {
		return call.Scope()
	}
	return r.durable.visit.Scope()
}

func (r *agentRun[M]) outside() context.Context { return r.Context }
