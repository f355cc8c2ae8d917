package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/internal/safe"
)

// GenInputResult is the plan of a turn.
type GenInputResult[T any, M MessageType] struct {
	// RunCtx is the context of the turn, the loop's if nil. The agent's context ends with both.
	RunCtx context.Context
	// Input is the input of the agent.
	Input   *TypedAgentInput[M]
	RunOpts []AgentRunOption
	// Consumed are the items of the turn, Remaining those that wait for the next one. Others are dropped.
	Consumed, Remaining []T
}

// TurnLoopResumeDecision says what a loop does with the saved run that it found.
type TurnLoopResumeDecision int

const (
	// TurnLoopResumeDecisionResume resumes the saved run. It is the default.
	TurnLoopResumeDecisionResume TurnLoopResumeDecision = iota
	// TurnLoopResumeDecisionStartNewTurn gives the saved run up and starts a new turn.
	TurnLoopResumeDecisionStartNewTurn
)

// GenResumeResult plans the first turn of a loop that found a saved run.
type GenResumeResult[T any, M MessageType] struct {
	// Decision is [TurnLoopResumeDecisionResume] or [TurnLoopResumeDecisionStartNewTurn].
	Decision TurnLoopResumeDecision
	// Input is the input of the agent of a new turn; it must be nil to resume. A new turn without Input is planned by
	// GenInput, from Remaining; if nothing remains, the loop waits.
	Input *TypedAgentInput[M]
	// RunCtx is the context of the turn, the loop's if nil. The agent's context ends with both.
	RunCtx  context.Context
	RunOpts []AgentRunOption
	// ResumeParams answer the interrupts of the saved run; nil answers none. They must be nil for a new turn.
	ResumeParams *ResumeParams
	// Consumed are the items of the turn, Remaining the items that wait for the next one. Others are dropped. But if both
	// are nil for a new turn, all items wait, the items of the saved run first: giving up a run never drops its items
	// unasked.
	Consumed, Remaining []T
}

// check returns what is wrong with a plan that contradicts itself.
func (r *GenResumeResult[T, M]) check() error {
	switch r.Decision {
	case TurnLoopResumeDecisionResume:
		if r.Input != nil {
			return errors.New("field Input is for TurnLoopResumeDecisionStartNewTurn: set Decision, or leave Input nil")
		}
	case TurnLoopResumeDecisionStartNewTurn:
		if r.ResumeParams != nil {
			return errors.New("field ResumeParams is for TurnLoopResumeDecisionResume: leave it nil to start a new turn")
		}
		if r.Input == nil && len(r.Consumed) > 0 {
			return errors.New("field Consumed needs Input: set it, or leave the items in Remaining for GenInput")
		}
	default:
		return fmt.Errorf("unknown Decision %d: use TurnLoopResumeDecisionResume or TurnLoopResumeDecisionStartNewTurn",
			r.Decision)
	}
	return nil
}

// turnPlan is the decision of GenInput or GenResume: to resume a run, or to ask the agent input. Without either the plan
// is left to GenInput, in another turn.
type turnPlan[T any, M MessageType] struct {
	ctx                 context.Context
	resume              *turnDocument[T]
	params              *ResumeParams
	input               *TypedAgentInput[M]
	opts                []AgentRunOption
	consumed, remaining []T
}

func (p *turnPlan[T, M]) isLeftToGenInput() bool { return p.resume == nil && p.input == nil }

// plan calls GenInput or GenResume.
func (l *TurnLoop[T, M]) plan(t *turn[T, M]) (*turnPlan[T, M], error) {
	if t.saved != nil {
		return l.planResume(t)
	}
	result, err := guarded(func() (*GenInputResult[T, M], error) { return l.cfg.GenInput(l.life, l, given(t.items)) })
	switch {
	case err != nil:
		return nil, err
	case result == nil:
		return nil, errors.New("GenInputResult is nil")
	case result.Input == nil:
		return nil, errors.New("agent input is nil")
	}
	return &turnPlan[T, M]{
		ctx: orElse(result.RunCtx, l.life), input: result.Input, opts: result.RunOpts,
		consumed: slices.Clone(result.Consumed), remaining: slices.Clone(result.Remaining),
	}, nil
}

// planResume calls GenResume.
func (l *TurnLoop[T, M]) planResume(t *turn[T, M]) (*turnPlan[T, M], error) {
	if l.cfg.GenResume == nil {
		return nil, errors.New("GenResume is required for resume")
	}
	s := t.saved
	result, err := guarded(func() (*GenResumeResult[T, M], error) {
		return l.cfg.GenResume(l.life, l, given(s.CanceledItems), given(s.UnhandledItems), given(t.items))
	})
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("GenResumeResult is nil")
	}
	if err := result.check(); err != nil {
		return nil, fmt.Errorf("GenResumeResult: %w", err)
	}
	plan := &turnPlan[T, M]{
		ctx: orElse(result.RunCtx, l.life), input: result.Input, params: result.ResumeParams, opts: result.RunOpts,
		consumed: slices.Clone(result.Consumed), remaining: slices.Clone(result.Remaining),
	}
	switch {
	case result.Decision == TurnLoopResumeDecisionResume:
		plan.resume = s
	case result.Consumed == nil && result.Remaining == nil:
		plan.remaining = slices.Concat(s.CanceledItems, s.UnhandledItems, t.items)
	}
	return plan, nil
}

// prepare calls PrepareAgent.
func (l *TurnLoop[T, M]) prepare(plan *turnPlan[T, M]) (TypedAgent[M], error) {
	agent, err := guarded(func() (TypedAgent[M], error) {
		return l.cfg.PrepareAgent(plan.ctx, l, given(plan.consumed))
	})
	if err == nil && agent == nil {
		err = errors.New("PrepareAgent returned no agent")
	}
	return agent, err
}

// guarded runs a callback and turns a panic into an error.
func guarded[R any](call func() (R, error)) (result R, err error) {
	defer safe.Recover(&err)
	return call()
}

// given returns a copy of items for a user, who may append to it.
func given[T any](items []T) []T { return slices.Clip(slices.Clone(items)) }
