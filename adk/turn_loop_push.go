package adk

import (
	"context"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
)

// SafePoint is the place where a turn may be preempted. Points add up.
type SafePoint int

// The safe points.
const (
	// AfterChatModel is after an answer with tool calls, before the tools run.
	AfterChatModel SafePoint = 1 << 0
	// AfterToolCalls is after all tool calls of an answer.
	AfterToolCalls SafePoint = 1 << 1
	// AnySafePoint is the first one that comes.
	AnySafePoint = AfterChatModel | AfterToolCalls
)

func (p SafePoint) mode() cancelscope.Mode {
	if p == 0 {
		panic("adk: SafePoint must not be zero; use AfterToolCalls, AfterChatModel, or AnySafePoint")
	}
	var mode CancelMode
	if p&AfterChatModel != 0 {
		mode |= CancelAfterChatModel
	}
	if p&AfterToolCalls != 0 {
		mode |= CancelAfterToolCalls
	}
	return cancelscope.Mode(mode)
}

// pushConfig holds the settings that the options of a push change.
type pushConfig[T any, M MessageType] struct {
	preempt  *cancelscope.Request
	delay    time.Duration
	strategy func(ctx context.Context, tc *TurnContext[T, M]) []PushOption[T, M]
}

// PushOption is an option of [TurnLoop.Push].
type PushOption[T any, M MessageType] func(*pushConfig[T, M])

// WithPreempt ends the present turn at a safe point, so that a new one begins with everything that waits. The items of
// the ended turn count as consumed. It panics if safePoint is 0.
//
// The function of the same name in package turnloop takes the options of a cancel instead, and without any ends the
// turn at once: it is [WithPreemptCancel].
func WithPreempt[T any, M MessageType](safePoint SafePoint) PushOption[T, M] {
	return preemptWith[T, M](cancelscope.Request{Mode: safePoint.mode()})
}

// WithPreemptTimeout is [WithPreempt] that waits no longer than timeout for a safe point, if that is positive, and that
// agents inside the agent of the turn obey, too.
func WithPreemptTimeout[T any, M MessageType](safePoint SafePoint, timeout time.Duration) PushOption[T, M] {
	return preemptWith[T, M](cancelscope.Request{Mode: safePoint.mode(), Timeout: timeout, Recursive: true})
}

// WithPreemptCancel is [WithPreempt] with the options of a cancel. Without any the turn ends at once.
func WithPreemptCancel[T any, M MessageType](opts ...AgentCancelOption) PushOption[T, M] {
	return preemptWith[T, M](requestOf(opts))
}

func preemptWith[T any, M MessageType](r cancelscope.Request) PushOption[T, M] {
	return func(c *pushConfig[T, M]) { c.preempt = &r }
}

// WithPreemptDelay lets the turn run for a while before it is preempted. The item waits from now on. Without a preempt
// it does nothing.
func WithPreemptDelay[T any, M MessageType](delay time.Duration) PushOption[T, M] {
	return func(c *pushConfig[T, M]) { c.delay = delay }
}

// WithPushStrategy lets fn choose the options from the present turn; ctx is the context of the turn. If no turn runs,
// they are context.Background() and nil. fn runs inside Push, and no turn is planned meanwhile. Other options of the
// push do not count, nor do strategies among those that fn returns.
func WithPushStrategy[T any, M MessageType](
	fn func(ctx context.Context, tc *TurnContext[T, M]) []PushOption[T, M],
) PushOption[T, M] {
	return func(c *pushConfig[T, M]) { c.strategy = fn }
}

func configOf[T any, M MessageType](opts []PushOption[T, M]) (c pushConfig[T, M]) {
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	return c
}

// Push gives the loop an item, and reports whether it was taken: not if the loop is stopped or its context has ended.
// It does not wait. With a preempt the channel is closed when that has been delivered, or has turned out to have
// nothing to end.
func (l *TurnLoop[T, M]) Push(item T, opts ...PushOption[T, M]) (bool, <-chan struct{}) {
	conf := configOf(opts)
	l.mu.Lock()
	defer l.mu.Unlock()
	target := l.presentTurn()
	if conf.strategy != nil {
		conf = l.ask(conf.strategy, target)
	}
	if l.ctx != nil && l.ctx.Err() != nil || !l.queue.Push(item) {
		if !l.queue.PushLate(item) {
			panic("TurnLoop: Push called after TakeLateItems")
		}
		return false, nil
	}
	if conf.preempt == nil {
		return true, nil
	}
	if target == nil {
		return true, l.queue.Preempt(0, 0, nil)
	}
	submit := func() { target.cancel(*conf.preempt, target.preempted) }
	return true, l.queue.Preempt(target.number, conf.delay, submit)
}

// ask has a strategy choose the options of a push, without mu, which is held before and after.
func (l *TurnLoop[T, M]) ask(
	strategy func(context.Context, *TurnContext[T, M]) []PushOption[T, M], target *turn[T, M],
) pushConfig[T, M] {
	ctx, tc := context.Background(), (*TurnContext[T, M])(nil)
	if target != nil && target.context != nil {
		ctx = target.ctx
		seen := *target.context
		seen.Consumed = slices.Clone(seen.Consumed)
		tc = &seen
	}
	l.queue.Hold()
	l.mu.Unlock()
	defer func() { // also when the strategy panics
		l.mu.Lock()
		l.queue.Release()
	}()
	return configOf(strategy(ctx, tc))
}
