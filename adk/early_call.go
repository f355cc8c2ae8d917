package adk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/internal/jsonscan"
	"github.com/weftgo/weft/schema"
)

// earlyCall is one tool call that was started early.
type earlyCall struct {
	run    any
	call   schema.ToolCall
	life   context.Context // what ctx was made of
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{}
	text   *schema.StreamReader[string]
	result *schema.StreamReader[*schema.ToolResult]
	err    error
	// readers is how many places in the message have not taken the result yet. Set before the first of them awaits it.
	readers int

	mu    sync.Mutex // guards the fields below, and text and result once done is closed
	phase earlyPhase
	held  []heldEvent
}

// earlyPhase is what has become of a call.
//
//	from       to         when
//	held       published  its message stands: its events are out, and what it will send
//	held       discarded  its message does not stand, or the run has ended: its events and its result are dropped
//	published  closed     the results of the round are there: what it sends still is dropped with the run's
type earlyPhase int

const (
	earlyHeld earlyPhase = iota
	earlyPublished
	earlyDiscarded
	earlyClosed
)

// move makes a transition of the table. c.mu is locked.
func (c *earlyCall) move(to earlyPhase) {
	legal := c.phase == earlyHeld && (to == earlyPublished || to == earlyDiscarded) || c.phase == earlyPublished && to == earlyClosed
	if !legal {
		panic(fmt.Sprintf("adk: an early tool call cannot go from phase %d to %d", c.phase, to))
	}
	c.phase = to
}

// heldEvent is an event, or the action of one, that is out only once its call counts.
type heldEvent struct {
	publish func() error
	drop    func()
}

type earlyCallKey struct{}

// earlyCallIn returns the early call of the run that ctx belongs to, nil in an ordinary one. A run inside the tool of
// an early call is no part of it.
func earlyCallIn(ctx context.Context, run any) *earlyCall {
	c, _ := ctx.Value(earlyCallKey{}).(*earlyCall)
	if c == nil || c.run != run {
		return nil
	}
	return c
}

// is reports whether the call is the one of the message. White space may have come after the arguments were complete.
func (c *earlyCall) is(call *schema.ToolCall) bool {
	return call.ID == c.call.ID && call.Function.Name == c.call.Function.Name &&
		strings.TrimRight(call.Function.Arguments, " \t\r\n") == strings.TrimRight(c.call.Function.Arguments, " \t\r\n")
}

// hold publishes an event when the call is adopted, at once if it has been.
func (c *earlyCall) hold(e heldEvent) error {
	return c.holdAt(e, func(held []heldEvent) int { return len(held) })
}

// holdAction is hold for the action of an event, which may be held already.
func (c *earlyCall) holdAction(publish func() error) error {
	return c.holdAt(heldEvent{publish: publish, drop: func() {}}, func([]heldEvent) int { return 0 })
}

// holdAt is hold at a place among the events that are held.
func (c *earlyCall) holdAt(e heldEvent, place func([]heldEvent) int) error {
	c.mu.Lock()
	phase := c.phase
	if phase == earlyHeld {
		c.held = slices.Insert(c.held, place(c.held), e)
	}
	c.mu.Unlock()
	switch phase {
	case earlyPublished, earlyClosed:
		return e.publish()
	case earlyDiscarded:
		e.drop()
	}
	return nil
}

// release publishes what is held, in its order. Nothing is locked then: user code may hold the state of the run.
func (c *earlyCall) release() error {
	for {
		e, ok := c.takeHeld()
		if !ok {
			return nil
		}
		if err := e.publish(); err != nil {
			return err
		}
	}
}

func (c *earlyCall) takeHeld() (e heldEvent, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase != earlyHeld:
		return e, false
	case len(c.held) == 0:
		c.move(earlyPublished)
		return e, false
	}
	e, c.held = c.held[0], c.held[1:]
	return e, true
}

// discard cancels the call, unless it was published, and drops what it gave or will give.
func (c *earlyCall) discard(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == earlyHeld {
		c.end(cause)
	}
}

// close is for when nobody will ask for the result any more.
func (c *earlyCall) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(cause)
}

// end cancels the call, drops what it holds, and closes its streams, unless somebody has taken them. c.mu is locked.
func (c *earlyCall) end(cause error) {
	switch c.phase {
	case earlyHeld:
		c.move(earlyDiscarded)
		for _, e := range c.held {
			e.drop()
		}
		c.held = nil
	case earlyPublished:
		c.move(earlyClosed)
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
func (c *earlyCall) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.done)
	if c.phase == earlyDiscarded || c.phase == earlyClosed {
		c.closeStreams()
	}
}

func (c *earlyCall) closeStreams() {
	if c.text != nil {
		c.text.Close()
	}
	if c.result != nil {
		c.result.Close()
	}
	c.text, c.result = nil, nil
}

// await waits for the call and returns its result, or a copy if others will come for it. The end of ctx cancels the
// call; if only ctx has ended, because a call beside it failed, it is waited for all the same.
func (c *earlyCall) await(ctx context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
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
		if isFinal(c.err) {
			return nil, nil, c.err
		}
		return nil, nil, fmt.Errorf("eager tool call %s failed: %w", c.call.ID, c.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers--
	return take(&c.text, c.readers), take(&c.result, c.readers), nil
}

// take returns the stream itself if there are no others to come, else a copy.
func take[T any](s **schema.StreamReader[T], others int) *schema.StreamReader[T] {
	own := *s
	*s = nil
	if own == nil || others == 0 {
		return own
	}
	copies := own.Copy(2)
	*s = copies[0]
	return copies[1]
}

// callJoins joins the pieces of tool calls while they come, by the rules of joining messages, to see which calls are
// complete: those whose arguments are a JSON object.
type callJoins struct {
	byIndex map[int]*callJoin
	// current takes the pieces without an index.
	current *callJoin
}

// callJoin is a call so far.
type callJoin struct {
	call      schema.ToolCall
	arguments strings.Builder
	scan      jsonscan.Object
	started   bool
}

// add takes a piece and returns the call that it completes, if it does.
func (j *callJoins) add(piece *schema.ToolCall) (*schema.ToolCall, error) {
	c := j.find(piece)
	if err := c.add(piece); err != nil {
		return nil, err
	}
	if c.started || c.call.ID == "" || c.call.Function.Name == "" || !c.scan.Ended() {
		return nil, nil
	}
	arguments := c.arguments.String()
	if !json.Valid([]byte(arguments)) {
		return nil, nil
	}
	c.started = true
	c.call.Function.Arguments = arguments
	return &c.call, nil
}

// find returns the call that a piece belongs to. Without an index, a new ID begins a new call.
func (j *callJoins) find(piece *schema.ToolCall) *callJoin {
	if piece.Index == nil {
		if j.current == nil || piece.ID != "" && j.current.call.ID != "" && piece.ID != j.current.call.ID {
			j.current = new(callJoin)
		}
		return j.current
	}
	c := j.byIndex[*piece.Index]
	if c == nil {
		if j.byIndex == nil {
			j.byIndex = map[int]*callJoin{}
		}
		c = new(callJoin)
		j.byIndex[*piece.Index] = c
	}
	return c
}

func (c *callJoin) add(piece *schema.ToolCall) error {
	for _, f := range []struct {
		what      string
		have, got *string
	}{
		{"ID", &c.call.ID, &piece.ID},
		{"name", &c.call.Function.Name, &piece.Function.Name},
		{"type", &c.call.Type, &piece.Type},
	} {
		switch {
		case *f.got == "" || *f.got == *f.have:
		case *f.have == "":
			*f.have = *f.got
		default:
			return fmt.Errorf("conflicting tool call %s in same accumulator: %q and %q", f.what, *f.have, *f.got)
		}
	}
	c.arguments.WriteString(piece.Function.Arguments)
	c.scan.Feed(piece.Function.Arguments)
	if len(c.call.Extra) == 0 && len(piece.Extra) > 0 {
		c.call.Extra = maps.Clone(piece.Extra)
	}
	return nil
}
