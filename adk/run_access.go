package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

// anyRun is a run on messages of either kind.
type anyRun interface {
	// shared calls f with what states of both kinds have in common.
	shared(ctx context.Context, f func(extra *map[string]any, setAction func(key string, action *AgentAction) error) error) error
	// agentToolOptions are those for an agent that runs as a tool, streaming whether it is to stream.
	agentToolOptions(name string) []AgentRunOption
	streaming() bool
	// cancelView is which cancel the run has to obey, and whether it can only be aborted.
	cancelView() (view *cancelscope.View, abortable bool)
	// steps is where the steps of the run are saved.
	steps() *runJournal
	// outside is the context that the run was started with.
	outside() context.Context
	// idempotencyKey is that of a tool call of the run.
	idempotencyKey(ctx context.Context, call schema.ToolCall) string
}

type agentRunKey struct{}

// innermostRun returns the innermost run of a chat model agent, nil outside one.
func innermostRun(ctx context.Context) anyRun {
	r, _ := ctx.Value(agentRunKey{}).(anyRun)
	return r
}

// agentRunFrom returns the innermost run if it is one on M, else nil.
func agentRunFrom[M MessageType](ctx context.Context) *agentRun[M] {
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

func (r *agentRun[M]) shared(ctx context.Context, f func(*map[string]any, func(string, *AgentAction) error) error) error {
	if !r.hasState(ctx) {
		return errNoState
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		return f(&s.Extra, func(key string, action *AgentAction) error {
			return s.setAction(key, action)
		})
	})
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

func processShared(ctx context.Context, f func(extra *map[string]any, setAction func(string, *AgentAction) error) error) error {
	r := innermostRun(ctx)
	if r == nil {
		return errOutsideRun
	}
	return r.shared(ctx, f)
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

func (r *agentRun[M]) cancelView() (*cancelscope.View, bool) { return r.view, r.abortable }

func (r *agentRun[M]) steps() *runJournal { return r.journal }

func (r *agentRun[M]) outside() context.Context { return r.Context }
