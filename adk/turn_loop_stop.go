package adk

import (
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/turnqueue"
)

// stopConfig holds the settings that the options of a stop change.
type stopConfig struct {
	cancel         *cancelscope.Request
	idle           time.Duration
	skipCheckpoint bool
	cause          string
}

// StopOption is an option of [TurnLoop.Stop].
type StopOption func(*stopConfig)

// WithImmediate stops the agent of the present turn, and those in it, at once.
func WithImmediate() StopOption { return stopWith(cancelscope.Request{Recursive: true}) }

// WithGraceful stops the agent of the present turn, and those in it, at the first safe point.
func WithGraceful() StopOption {
	return stopWith(cancelscope.Request{Mode: AnySafePoint.mode(), Recursive: true})
}

// WithGracefulTimeout is [WithGraceful] that does not wait longer than gracePeriod. It panics if that is not positive.
func WithGracefulTimeout(gracePeriod time.Duration) StopOption {
	if gracePeriod <= 0 {
		panic("adk: WithGracefulTimeout: gracePeriod must be positive")
	}
	return stopWith(cancelscope.Request{Mode: AnySafePoint.mode(), Recursive: true, Timeout: gracePeriod})
}

// WithAgentCancel cancels the agent of the present turn with the options of a cancel: at once and not those in it, if
// there are none.
func WithAgentCancel(opts ...AgentCancelOption) StopOption { return stopWith(requestOf(opts)) }

func stopWith(r cancelscope.Request) StopOption {
	return func(c *stopConfig) { c.cancel = &r }
}

// UntilIdleFor stops the loop once it has had nothing to do for that long. It panics if duration is not positive. If it
// is given several times the first one counts; a stop without it acts at once.
func UntilIdleFor(duration time.Duration) StopOption {
	if duration <= 0 {
		panic("adk: UntilIdleFor: duration must be positive")
	}
	return func(c *stopConfig) { c.idle = duration }
}

// WithSkipCheckpoint ends the loop without saving it, and deletes an old checkpoint.
func WithSkipCheckpoint() StopOption { return func(c *stopConfig) { c.skipCheckpoint = true } }

// WithStopCause says why the loop is stopped. If it is given several times the first text that is not empty counts.
func WithStopCause(cause string) StopOption { return func(c *stopConfig) { c.cause = cause } }

// stopOrders holds what the stops of a loop have asked for, merged. Whether there was one is the phase of the loop's
// queue.
type stopOrders struct {
	skipCheckpoint bool
	cause          string
}

// Stop ends the loop after the present turn. It returns at once and may be called again, to stop sooner. Without an
// option the agent of the turn is left alone. Items that wait are unhandled items of the exit state.
func (l *TurnLoop[T, M]) Stop(opts ...StopOption) {
	var conf stopConfig
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.Phase() >= turnqueue.Ended {
		return
	}
	l.stop.skipCheckpoint = l.stop.skipCheckpoint || conf.skipCheckpoint
	if l.stop.cause == "" {
		l.stop.cause = conf.cause
	}
	if conf.idle > 0 {
		l.queue.StopWhenIdleFor(conf.idle)
		return
	}
	l.queue.Stop()
	if conf.cancel == nil {
		return
	}
	switch phase := l.queue.Phase(); {
	case phase.HasBegun():
		l.turn.cancel(*conf.cancel, l.turn.stopped)
	case phase.IsPlanned():
		l.turn.control.Ask(*conf.cancel)
	}
}

func (l *TurnLoop[T, M]) stopCause() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop.cause
}
