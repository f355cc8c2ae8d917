package adk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// eagerTools starts tool calls while the model still streams the message that makes them.
type eagerTools struct {
	node *compose.ToolsNode
	// limit is how many calls run at once, 0 for no limit.
	limit int
}

// A speculation is the tool calls that one attempt of the model has started. Nothing of them is seen outside before
// the tools node has adopted them, because the attempt may be rejected and the message changed by hooks: their events
// are held until then.
type speculation struct {
	tools   *eagerTools
	ctx     context.Context
	options []tool.Option

	joins callJoins

	mu      sync.Mutex
	calls   []*earlyCall
	waiting []*earlyCall
	running int
	idle    sync.Cond // running is 0
	aborted error
}

// startSpeculation returns nil if the agent does not run tools early. Methods of a nil speculation do nothing.
func startSpeculation[M MessageType](t *modelTurn[M]) *speculation {
	tools := t.chain.eager
	if tools == nil {
		return nil
	}
	// The calls belong to the tools node: to its address, and to the context of the run rather than that of the turn.
	s := &speculation{tools: tools, ctx: core.Beside(t.ctx, compose.AddressSegmentNode, toolsNode), options: t.run.options.tools}
	s.idle.L = &s.mu
	return s
}

// feed takes the pieces of calls in a chunk and starts the calls that they complete.
func (s *speculation) feed(pieces []schema.ToolCall) {
	for i := range pieces {
		call, err := s.joins.add(&pieces[i])
		if err != nil {
			s.abort(err)
			return
		}
		if call != nil {
			s.start(*call)
		}
	}
}

// start runs a call, unless one with its ID has been started.
func (s *speculation) start(tc schema.ToolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted != nil || s.find(tc.ID) != nil {
		return
	}
	call := &earlyCall{call: tc, done: make(chan struct{})}
	call.ctx, call.cancel = context.WithCancelCause(context.WithValue(s.ctx, earlyCallKey{}, call))
	s.calls = append(s.calls, call)
	if s.tools.limit > 0 && s.running >= s.tools.limit {
		s.waiting = append(s.waiting, call)
		return
	}
	s.running++
	go s.work(call)
}

func (s *speculation) find(id string) *earlyCall {
	for _, c := range s.calls {
		if c.call.ID == id {
			return c
		}
	}
	return nil
}

// work runs a call, and then those that wait.
func (s *speculation) work(call *earlyCall) {
	for call != nil {
		s.runOne(call)
		s.mu.Lock()
		call = nil
		if len(s.waiting) > 0 {
			call, s.waiting = s.waiting[0], s.waiting[1:]
		} else if s.running--; s.running == 0 {
			s.idle.Broadcast()
		}
		s.mu.Unlock()
	}
}

func (s *speculation) runOne(call *earlyCall) {
	call.err = errors.New("the tool ended its goroutine (runtime.Goexit)") // unless it comes back
	defer call.finish()
	if cause := context.Cause(call.ctx); cause != nil {
		call.err = cause
		return
	}
	call.text, call.result, _, call.err = compose.InternalStreamSingleToolCall(s.tools.node, call.ctx, call.call, s.options...)
}

// abort gives everything up: nothing more starts, what runs is cancelled, what there is is dropped.
func (s *speculation) abort(cause error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	if s.aborted != nil {
		s.mu.Unlock()
		return
	}
	if cause == nil {
		cause = context.Canceled
	}
	s.aborted = cause
	calls := s.calls
	s.mu.Unlock()
	for _, c := range calls {
		c.discard(cause)
	}
}

// adoptInto returns the early calls that are calls of the message, by their place in it, and gives up the others.
func (s *speculation) adoptInto(calls []schema.ToolCall) []compose.EarlyToolCall {
	s.mu.Lock()
	if s.tools.limit == 1 { // the node must not run one beside them
		for s.running > 0 {
			s.idle.Wait()
		}
	}
	early, aborted := s.calls, s.aborted != nil
	s.aborted = errMessageChanged // nothing starts any more
	s.mu.Unlock()
	if aborted {
		return nil
	}
	adopted := make([]compose.EarlyToolCall, len(calls))
	for _, c := range early {
		var places []int
		for i := range calls {
			if calls[i].ID == c.call.ID && calls[i].Function == c.call.Function {
				places = append(places, i)
			}
		}
		if len(places) == 0 {
			c.discard(errMessageChanged)
			continue
		}
		for n, i := range places {
			adopted[i] = c.waiter(n, len(places))
		}
	}
	return adopted
}

// publish lets out what the adopted calls have held back, and what they will send.
func (s *speculation) publish() error {
	for _, c := range s.calls {
		if err := c.release(); err != nil {
			return err
		}
	}
	return nil
}

// close frees what the contexts of the calls hold. It is called when the results have been read, or the run is over.
func (s *speculation) close() {
	if s == nil {
		return
	}
	s.abort(errRunOver)
	for _, c := range s.calls {
		c.cancel(errRunOver)
	}
}

var (
	errMessageChanged = errors.New("the tool call is not, or not like this, in the message that the agent goes on with")
	errRunOver        = errors.New("the tool calls of the message are done")
)

// earlyCall is one tool call that was started early.
type earlyCall struct {
	call   schema.ToolCall
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{}
	text   *schema.StreamReader[string]
	result *schema.StreamReader[*schema.ToolResult]
	err    error

	mu        sync.Mutex
	held      []heldEvent
	published bool
	dropped   bool
}

// heldEvent is an event that is out only once its call counts.
type heldEvent struct {
	publish func() error
	drop    func()
}

type earlyCallKey struct{}

// earlyCall returns the early call that ctx belongs to, nil in an ordinary one.
func (r *agentRun[M]) earlyCall(ctx context.Context) *earlyCall {
	if !r.agent.conf.ToolsConfig.EagerExecution {
		return nil
	}
	c, _ := ctx.Value(earlyCallKey{}).(*earlyCall)
	return c
}

// hold publishes an event when the call is adopted, at once if it has been.
func (c *earlyCall) hold(e heldEvent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.published:
		return e.publish()
	case c.dropped:
		e.drop()
		return nil
	}
	c.held = append(c.held, e)
	return nil
}

func (c *earlyCall) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped {
		return nil
	}
	c.published = true
	for _, e := range c.held {
		if err := e.publish(); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}

// discard cancels the call and drops what it gave or will give.
func (c *earlyCall) discard(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.published || c.dropped {
		return
	}
	c.dropped = true
	c.cancel(cause)
	for _, e := range c.held {
		e.drop()
	}
	c.held = nil
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
	if c.dropped {
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
}

// waiter returns what waits for the call, for place n of those in the message that share it.
func (c *earlyCall) waiter(n, places int) compose.EarlyToolCall {
	return func(ctx context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
		select {
		case <-c.done:
		case <-ctx.Done():
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
		return share(&c.text, n, places), share(&c.result, n, places), nil
	}
}

// share takes a copy for one of several readers, and the stream itself for the last.
func share[T any](s **schema.StreamReader[T], n, places int) *schema.StreamReader[T] {
	own := *s
	if own == nil || n == places-1 && places == 1 {
		return own
	}
	copies := own.Copy(2)
	*s = copies[0]
	return copies[1]
}
