package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
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
	run     anyRun
	tools   *eagerTools
	ctx     context.Context
	options []tool.Option
	// allowed, if not nil, says which tools may be started.
	allowed func(name string) bool

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
	s := &speculation{run: t.run, tools: tools, ctx: core.Beside(t.ctx, compose.AddressSegmentNode, toolsNode), options: t.run.options.tools}
	if t.run.durable != nil {
		// Should the process die before the answer is saved, the model would be asked again, and nothing would tell
		// that a call of its next answer has been made already.
		s.allowed = t.run.repeatable
	}
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
		if call != nil && (s.allowed == nil || s.allowed(call.Function.Name)) {
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
	call := &earlyCall{run: s.run, call: tc, life: s.ctx, done: make(chan struct{})}
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
	defer func() {
		if call == nil {
			return
		}
		if next := s.next(); next != nil { // the tool has ended this goroutine
			go s.work(next)
		}
	}()
	for call != nil {
		s.runOne(call)
		call = s.next()
	}
}

// next takes the call that waits longest. If there is none, one call less is running.
func (s *speculation) next() (call *earlyCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		call, s.waiting = s.waiting[0], s.waiting[1:]
	} else if s.running--; s.running == 0 {
		s.idle.Broadcast()
	}
	return call
}

func (s *speculation) runOne(call *earlyCall) {
	defer call.finish()
	if cause := context.Cause(call.ctx); cause != nil {
		call.err = cause
		return
	}
	call.err = errors.New("the tool ended its goroutine (runtime.Goexit)") // unless it comes back
	call.text, call.result, call.err = s.tools.run(call.ctx, call.call, s.options)
}

// run runs one call, like the tools node does.
func (e *eagerTools) run(ctx context.Context, call schema.ToolCall, opts []tool.Option) (text *schema.StreamReader[string], result *schema.StreamReader[*schema.ToolResult], err error) {
	defer safe.Recover(&err)
	text, result, _, err = compose.InternalStreamSingleToolCall(e.node, ctx, call, opts...)
	return text, result, err
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

// stop has no more calls started, and reports whether some have been.
func (s *speculation) stop() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted != nil {
		return false
	}
	for _, c := range s.waiting {
		c.discard(errStopped)
	}
	s.calls = slices.DeleteFunc(s.calls, func(c *earlyCall) bool { return slices.Contains(s.waiting, c) })
	s.waiting = nil
	return len(s.calls) > 0
}

// adoptInto returns the early calls that are calls of the message, by their place in it, and gives up the others.
func (s *speculation) adoptInto(ctx context.Context, calls []schema.ToolCall) ([]compose.EarlyToolCall, error) {
	s.mu.Lock()
	if s.tools.limit == 1 { // the node must not run one beside them
		s.waitIdle(ctx)
	}
	early, aborted := s.calls, s.aborted != nil
	s.aborted = errMessageChanged // nothing starts any more
	s.mu.Unlock()
	if err := context.Cause(ctx); aborted || err != nil {
		return nil, err
	}
	adopted := make([]compose.EarlyToolCall, len(calls))
	for _, c := range early {
		places := 0
		for i := range calls {
			if c.is(&calls[i]) {
				adopted[i] = c.await
				places++
			}
		}
		if places == 0 {
			c.discard(errMessageChanged)
		}
		c.readers = places
	}
	return adopted, nil
}

// waitIdle waits until no call runs, or ctx ends. s.mu is locked.
func (s *speculation) waitIdle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})()
	for s.running > 0 && ctx.Err() == nil {
		s.idle.Wait()
	}
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

// close frees what the calls hold: their contexts, and results that nobody has taken. It is called when the results
// have been read, or the run goes on without them.
func (s *speculation) close() {
	if s == nil {
		return
	}
	s.abort(errRunOver)
	for _, c := range s.calls {
		c.close(errRunOver)
	}
}

var (
	errMessageChanged = errors.New("the tool call is not, or not like this, in the message that the agent goes on with")
	errRunOver        = errors.New("the tool calls of the message are done")
)

// earlyCall is one tool call that was started early.
type earlyCall struct {
	run    anyRun
	call   schema.ToolCall
	life   context.Context // what ctx was made of
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{}
	text   *schema.StreamReader[string]
	result *schema.StreamReader[*schema.ToolResult]
	err    error
	// readers is how many places in the message have not taken the result yet.
	readers int

	mu   sync.Mutex
	held []heldEvent
	// published: nothing is held any more. dropped: nobody wants the result. closed: nor will anybody come for it.
	published, dropped, closed bool
}

// heldEvent is an event, or the action of one, that is out only once its call counts.
type heldEvent struct {
	publish func() error
	drop    func()
}

type earlyCallKey struct{}

// earlyCallIn returns the early call of the run that ctx belongs to, nil in an ordinary one. A run inside the tool of
// an early call is no part of it.
func earlyCallIn(ctx context.Context, run anyRun) *earlyCall {
	c, _ := ctx.Value(earlyCallKey{}).(*earlyCall)
	if c == nil || c.run != run {
		return nil
	}
	return c
}

func (r *agentRun[M]) earlyCall(ctx context.Context) *earlyCall {
	if !r.agent.conf.ToolsConfig.EagerExecution {
		return nil
	}
	return earlyCallIn(ctx, r)
}

// is reports whether the call is the one of the message. White space may have come after the arguments were complete.
func (c *earlyCall) is(call *schema.ToolCall) bool {
	return call.ID == c.call.ID && call.Function.Name == c.call.Function.Name &&
		strings.TrimRight(call.Function.Arguments, " \t\r\n") == strings.TrimRight(c.call.Function.Arguments, " \t\r\n")
}

// hold publishes an event when the call is adopted, at once if it has been.
func (c *earlyCall) hold(e heldEvent) error {
	c.mu.Lock()
	published, dropped := c.published, c.dropped
	if !published && !dropped {
		c.held = append(c.held, e)
	}
	c.mu.Unlock()
	switch {
	case published:
		return e.publish()
	case dropped:
		e.drop()
	}
	return nil
}

// holdAction is hold for the action of an event, which may be held already.
func (c *earlyCall) holdAction(publish func() error) error {
	c.mu.Lock()
	published, dropped := c.published, c.dropped
	if !published && !dropped {
		c.held = slices.Insert(c.held, 0, heldEvent{publish: publish, drop: func() {}})
	}
	c.mu.Unlock()
	if published {
		return publish()
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
	if c.dropped {
		return e, false
	}
	if len(c.held) == 0 {
		c.published = true
		return e, false
	}
	e, c.held = c.held[0], c.held[1:]
	return e, true
}

// discard cancels the call and drops what it gave or will give.
func (c *earlyCall) discard(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.published || c.dropped {
		return
	}
	c.dropped = true
	for _, e := range c.held {
		e.drop()
	}
	c.held = nil
	c.end(cause)
}

// close is for when nobody will ask for the result any more.
func (c *earlyCall) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(cause)
}

// end cancels the call and closes its streams, unless somebody has taken them. c.mu is locked.
func (c *earlyCall) end(cause error) {
	c.closed = true
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
	if c.closed {
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

// await waits for the call and returns its result, or a copy if others will come for it. The end of ctx cancels the call;
// if only ctx has ended, because a call beside it failed, it is waited for all the same.
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
