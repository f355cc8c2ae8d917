package eager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/schema"
)

// A Call is one tool call that was started early.
type Call struct {
	of     *Speculation
	call   schema.ToolCall
	life   context.Context // what ctx was made of
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{}
	text   *schema.StreamReader[string]
	result *schema.StreamReader[*schema.ToolResult]
	err    error
	// adopted: it is a call of the message. The mutex of the speculation guards it.
	adopted bool

	mu    sync.Mutex // guards the fields below, and text and result once done is closed
	phase callPhase
	held  []Event
}

// callPhase is the state of a call.
//
//	from       to         when
//	held       published  its message stands: its events are out, and what it will send
//	held       discarded  its message does not stand, or the run has ended: its events and its result are dropped
//	published  closed     the results of the round are there: what it sends still is dropped with the run's
type callPhase int

const (
	callHeld callPhase = iota
	callPublished
	callDiscarded
	callClosed
)

// move makes a transition of the table. c.mu is locked.
func (c *Call) move(to callPhase) {
	legal := c.phase == callHeld && (to == callPublished || to == callDiscarded) || c.phase == callPublished &&
		to == callClosed
	if !legal {
		panic(fmt.Sprintf("eager: an early tool call cannot go from phase %d to %d", c.phase, to))
	}
	c.phase = to
}

// Event is an output of a call: an event, or the action of one. It is published once the call counts, or dropped.
type Event struct {
	Publish func() error
	Drop    func()
}

type callKey struct{}

// CallIn returns the early call of the run that ctx belongs to, nil in an ordinary one. A run inside the tool of an
// early call is no part of it.
func CallIn(ctx context.Context, run any) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	if c == nil || c.of.Run != run {
		return nil
	}
	return c
}

// is reports whether the call is the one of the message. White space may have come after the arguments were complete.
func (c *Call) is(call *schema.ToolCall) bool {
	return call.ID == c.call.ID && call.Function.Name == c.call.Function.Name &&
		strings.TrimRight(call.Function.Arguments, " \t\r\n") == strings.TrimRight(c.call.Function.Arguments, " \t\r\n")
}

// Hold publishes an event when the call is adopted, at once if it has been.
func (c *Call) Hold(e Event) error {
	return c.holdAt(e, func(held []Event) int { return len(held) })
}

// HoldAction is Hold for the action of an event, which may be held already.
func (c *Call) HoldAction(publish func() error) error {
	return c.holdAt(Event{Publish: publish, Drop: func() {}}, func([]Event) int { return 0 })
}

// holdAt is Hold at a place among the events that are held.
func (c *Call) holdAt(e Event, place func([]Event) int) error {
	c.mu.Lock()
	phase := c.phase
	if phase == callHeld {
		c.held = slices.Insert(c.held, place(c.held), e)
	}
	c.mu.Unlock()
	switch phase {
	case callPublished, callClosed:
		return e.Publish()
	case callDiscarded:
		e.Drop()
	}
	return nil
}

// release publishes what is held, in its order. Nothing is locked then: user code may hold the state of the run.
func (c *Call) release() error {
	for {
		e, ok := c.takeHeld()
		if !ok {
			return nil
		}
		if err := e.Publish(); err != nil {
			return err
		}
	}
}

func (c *Call) takeHeld() (e Event, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase != callHeld:
		return e, false
	case len(c.held) == 0:
		c.move(callPublished)
		return e, false
	}
	e, c.held = c.held[0], c.held[1:]
	return e, true
}

// discard cancels the call, unless it was published, and drops what it gave or will give.
func (c *Call) discard(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == callHeld {
		c.end(cause)
	}
}

// close ends a call whose result will not be asked for any more.
func (c *Call) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(cause)
}

// end cancels the call, drops what it holds, and closes its streams, unless they were taken. c.mu is locked.
func (c *Call) end(cause error) {
	switch c.phase {
	case callHeld:
		c.move(callDiscarded)
		for _, e := range c.held {
			e.Drop()
		}
		c.held = nil
	case callPublished:
		c.move(callClosed)
	default:
		return
	}
	c.cancel(cause)
	select {
	case <-c.done:
		c.closeStreams()
	default: // finish will
	}
}

// finish says that the tool has returned.
func (c *Call) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.done)
	if c.phase == callDiscarded || c.phase == callClosed {
		c.closeStreams()
	}
}

func (c *Call) closeStreams() {
	if c.text != nil {
		c.text.Close()
	}
	if c.result != nil {
		c.result.Close()
	}
	c.text, c.result = nil, nil
}

// await waits for the call and returns its result. The end of ctx cancels the
// call; if only ctx has ended, because a call beside it failed, it is waited for all the same.
func (c *Call) await(
	ctx context.Context,
) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.close(context.Cause(ctx))
		select {
		case <-c.done:
		case <-c.life.Done():
		}
		return nil, nil, context.Cause(ctx)
	}
	if c.err != nil {
		if c.of.Tools.IsFinal(c.err) {
			return nil, nil, c.err
		}
		return nil, nil, fmt.Errorf("eager tool call %s failed: %w", c.call.ID, c.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text, result := c.text, c.result
	c.text, c.result = nil, nil
	return text, result, nil
}
