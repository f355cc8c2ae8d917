// Package turnloop is adk.TurnLoop for ordinary messages, with one type parameter: the items.
//
// Everything here is another name for something in package adk.
package turnloop

import (
	"context"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// Generic types of package adk on *schema.Message.
type (
	// TurnLoop is adk.TurnLoop.
	TurnLoop[T any] = adk.TurnLoop[T, *schema.Message]
	// TurnLoopConfig is adk.TurnLoopConfig.
	TurnLoopConfig[T any] = adk.TurnLoopConfig[T, *schema.Message]
	// TurnLoopExitState is adk.TurnLoopExitState.
	TurnLoopExitState[T any] = adk.TurnLoopExitState[T, *schema.Message]
	// TurnContext is adk.TurnContext.
	TurnContext[T any] = adk.TurnContext[T, *schema.Message]
	// GenInputResult is adk.GenInputResult.
	GenInputResult[T any] = adk.GenInputResult[T, *schema.Message]
	// GenResumeResult is adk.GenResumeResult.
	GenResumeResult[T any] = adk.GenResumeResult[T, *schema.Message]
	// PushOption is adk.PushOption.
	PushOption[T any] = adk.PushOption[T, *schema.Message]
)

// Types of package adk.
type (
	// StopOption is adk.StopOption.
	StopOption = adk.StopOption
	// SafePoint is adk.SafePoint.
	SafePoint = adk.SafePoint
	// TurnLoopResumeDecision is adk.TurnLoopResumeDecision.
	TurnLoopResumeDecision = adk.TurnLoopResumeDecision
	// InterruptError is adk.InterruptError.
	InterruptError = adk.InterruptError
)

// Values of TurnLoopResumeDecision.
const (
	TurnLoopResumeDecisionResume       = adk.TurnLoopResumeDecisionResume
	TurnLoopResumeDecisionStartNewTurn = adk.TurnLoopResumeDecisionStartNewTurn
)

// NewTurnLoop is adk.NewTurnLoop.
func NewTurnLoop[T any](cfg TurnLoopConfig[T]) *TurnLoop[T] { return adk.NewTurnLoop(cfg) }

// WithPreempt ends the present turn with the options of a cancel, and at once without any: it is adk.WithPreemptCancel.
//
// The function of the same name in package adk takes a safe point instead, at which the turn ends, and never ends it
// earlier.
func WithPreempt[T any](agentCancelOpts ...adk.AgentCancelOption) PushOption[T] {
	return adk.WithPreemptCancel[T, *schema.Message](agentCancelOpts...)
}

// WithPreemptDelay is adk.WithPreemptDelay.
func WithPreemptDelay[T any](delay time.Duration) PushOption[T] {
	return adk.WithPreemptDelay[T, *schema.Message](delay)
}

// WithPushStrategy is adk.WithPushStrategy.
func WithPushStrategy[T any](fn func(ctx context.Context, tc *TurnContext[T]) []PushOption[T]) PushOption[T] {
	return adk.WithPushStrategy(fn)
}

// WithAgentCancel is adk.WithAgentCancel.
func WithAgentCancel(opts ...adk.AgentCancelOption) StopOption { return adk.WithAgentCancel(opts...) }

// UntilIdleFor is adk.UntilIdleFor.
func UntilIdleFor(duration time.Duration) StopOption { return adk.UntilIdleFor(duration) }

// WithSkipCheckpoint is adk.WithSkipCheckpoint.
func WithSkipCheckpoint() StopOption { return adk.WithSkipCheckpoint() }

// WithStopCause is adk.WithStopCause.
func WithStopCause(cause string) StopOption { return adk.WithStopCause(cause) }
