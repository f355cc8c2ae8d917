package adk

import (
	"context"
	"slices"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
)

// SafePoint is where a turn may be preempted. Points add up.
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

// pushConfig is what the options of a push change.
type pushConfig[T any, M MessageType] struct {
	preempt  *cancelscope.Request
	delay    time.Duration
	strategy func(ctx context.Context, tc *TurnContext[T, M]) []PushOption[T, M]
}

// PushOption is an option of [TurnLoop.Push].
type PushOption[T any, M MessageType] func(*pushConfig[T, M])

// WithPreempt ends the present turn at a safe point, so that a new one begins with everything that waits. The items of
// the ended turn are done with. It panics if safePoint is 0.
func WithPreempt[T any, M MessageType](safePoint SafePoint) PushOption[T, M] {
	return preemptWith[T, M](cancelscope.Request{Mode: safePoint.mode()})
}

// WithPreemptTimeout is [WithPreempt] that does not wait longer than timeout for a safe point, if that is positive, and
// that agents inside the agent of the turn obey, too.
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

// WithPreemptDelay lets the turn go on for a while before it is preempted. The item is there at once. It does nothing
// by itself.
func WithPreemptDelay[T any, M MessageType](delay time.Duration) PushOption[T, M] {
	return func(c *pushConfig[T, M]) { c.delay = delay }
}

// WithPushStrategy lets fn choose the options, knowing the present turn; ctx is that of the turn. Without an active turn
// they are context.Background() and nil. fn runs inside Push, and no turn is planned meanwhile. Other options of the
// push do not count, nor do strategies among those that fn returns.
func WithPushStrategy[T any, M MessageType](fn func(ctx context.Context, tc *TurnContext[T, M]) []PushOption[T, M]) PushOption[T, M] {
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
// It does not wait. With a preempt the channel is closed when that has been delivered, or has turned out to have nothing
// to end.
func (l *TurnLoop[T, M]) Push(item T, opts ...PushOption[T, M]) (bool, <-chan struct{}) {
	conf := configOf(opts)
	target, conf := l.choose(conf)
	l.mu.Lock()
	defer l.mu.Unlock()
	if conf.strategy != nil {
		l.strategies--
		l.signal()
	}
	if l.ended || l.stop.requested || l.started && l.ctx.Err() != nil {
		if l.sealed {
			panic("TurnLoop: Push called after TakeLateItems")
		}
		l.late = append(l.late, item)
		return false, nil
	}
	l.buffer = append(l.buffer, item)
	l.signal()
	if conf.preempt == nil {
		return true, nil
	}
	return true, l.preempt(target, conf)
}

// choose finds the turn that a push is about, and lets a strategy choose the options. The strategy stays in the result
// as a sign that it ran.
func (l *TurnLoop[T, M]) choose(conf pushConfig[T, M]) (*turn[T, M], pushConfig[T, M]) {
	l.mu.Lock()
	target := l.turn
	if conf.strategy == nil {
		l.mu.Unlock()
		return target, conf
	}
	l.strategies++
	ctx, tc := context.Background(), (*TurnContext[T, M])(nil)
	if target != nil && target.context != nil {
		ctx = target.ctx
		seen := *target.context
		seen.Consumed = slices.Clone(seen.Consumed)
		tc = &seen
	}
	l.mu.Unlock()
	finished := false
	defer func() {
		if !finished { // a panic of the strategy: the item was not pushed
			l.mu.Lock()
			defer l.mu.Unlock()
			l.strategies--
			l.signal()
		}
	}()
	chosen := configOf(conf.strategy(ctx, tc))
	finished = true
	chosen.strategy = conf.strategy
	return target, chosen
}

// preempt delivers a preempt to a turn, now or later, with the lock held.
func (l *TurnLoop[T, M]) preempt(t *turn[T, M], conf pushConfig[T, M]) <-chan struct{} {
	ack := make(chan struct{})
	if t == nil || t.over {
		close(ack)
		return ack
	}
	p := preempt{request: *conf.preempt, ack: ack}
	t.acks[ack] = nil
	if conf.delay <= 0 {
		t.deliver(p)
		return ack
	}
	t.acks[ack] = time.AfterFunc(conf.delay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !t.over {
			t.deliver(p)
		}
	})
	return ack
}

// deliver cancels the agent of the turn, or does when it starts, with the loop's lock held.
func (t *turn[T, M]) deliver(p preempt) {
	if !t.begun {
		t.waiting = append(t.waiting, p)
		return
	}
	t.submit(p)
}
