package adk

import (
	"context"
	"errors"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// eagerTools starts tool calls while the model still streams the message that makes them.
type eagerTools struct {
	node *compose.ToolsNode
	// limit is how many calls run at once, 0 for no limit.
	limit int
}

// speculationPhase is what may become of the calls of a speculation.
//
//	from        to        when
//	collecting  adopted   the tools node has asked for the calls of the message
//	collecting  draining  the run is to stop before the tools: no more calls start, and those that run are waited for
//	draining    drained   the tools node has asked; the run stops behind the results
//	collecting  aborted   the answer does not count, or calls no tools
//	draining    aborted   the run ended meanwhile
type speculationPhase int

const (
	collecting speculationPhase = iota
	draining
	adopted
	drained
	aborted
)

// A speculation is the tool calls that one attempt of the model has started. Nothing of them is seen outside before
// the tools node has adopted them, because the attempt may be rejected and the message changed by hooks: their events
// are held until then.
type speculation struct {
	run     any
	tools   *eagerTools
	ctx     context.Context
	options []tool.Option
	// allowed, if not nil, says which tools may be started.
	allowed func(name string) bool

	joins callJoins

	mu      sync.Mutex // guards all fields below, and is taken before that of a call
	phase   speculationPhase
	calls   map[string]*earlyCall // by ID
	order   []*earlyCall          // the calls as they were started
	waiting []*earlyCall
	running int
	idle    sync.Cond // running is 0
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

// start runs a call, unless one with its ID has been started: those share one execution (rule agent/E-24).
func (s *speculation) start(tc schema.ToolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != collecting || s.calls[tc.ID] != nil {
		return
	}
	call := &earlyCall{run: s.run, call: tc, life: s.ctx, done: make(chan struct{})}
	call.ctx, call.cancel = context.WithCancelCause(context.WithValue(s.ctx, earlyCallKey{}, call))
	if s.calls == nil {
		s.calls = map[string]*earlyCall{}
	}
	s.calls[tc.ID] = call
	s.order = append(s.order, call)
	if s.tools.limit > 0 && s.running >= s.tools.limit {
		s.waiting = append(s.waiting, call)
		return
	}
	s.running++
	go s.work(call)
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

// abort gives everything up that the tools node has not adopted: nothing more starts, what runs is cancelled, what there
// is is dropped.
func (s *speculation) abort(cause error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != collecting && s.phase != draining {
		return
	}
	s.phase = aborted
	if cause == nil {
		cause = context.Canceled
	}
	for _, c := range s.order {
		c.discard(cause)
	}
}

// drain has no more calls started, and reports whether some have been.
func (s *speculation) drain() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != collecting || len(s.calls) == len(s.waiting) {
		return false
	}
	s.phase = draining
	for _, c := range s.waiting {
		delete(s.calls, c.call.ID)
		c.discard(errStopped)
	}
	s.waiting = nil
	return true
}

// stopsRun reports whether the run is to stop when the results are there. Of nil it is false.
func (s *speculation) stopsRun() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase == drained
}

// adoptInto returns the early calls that are calls of the message, by their place in it, and gives up the others.
func (s *speculation) adoptInto(ctx context.Context, calls []schema.ToolCall) ([]compose.EarlyToolCall, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools.limit == 1 { // the node must not run one beside them
		s.waitIdle(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	switch s.phase {
	case collecting:
		s.phase = adopted
	case draining:
		s.phase = drained
	default:
		return nil, nil
	}
	into := make([]compose.EarlyToolCall, len(calls))
	for i := range calls {
		if c := s.calls[calls[i].ID]; c != nil && c.is(&calls[i]) {
			into[i] = c.await
			c.readers++
		}
	}
	for _, c := range s.order {
		if c.readers == 0 {
			c.discard(errMessageChanged)
		}
	}
	return into, nil
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
	for _, c := range s.order {
		if err := c.release(); err != nil {
			return err
		}
	}
	return nil
}

// close frees what the calls hold: their contexts, and results that nobody has taken. It is called when the results
// have been read, or the run continues without them.
func (s *speculation) close() {
	if s == nil {
		return
	}
	s.abort(errRunOver)
	for _, c := range s.order {
		c.close(errRunOver)
	}
}

var (
	errMessageChanged = errors.New("the tool call is not, or not like this, in the message that the agent continues with")
	errRunOver        = errors.New("the tool calls of the message are done")
)

func newEagerTools(node *compose.ToolsNode, config *compose.ToolsNodeConfig) *eagerTools {
	limit := config.MaxParallelCalls
	if config.ExecuteSequentially {
		limit = 1
	}
	return &eagerTools{node: node, limit: limit}
}

// giveUp stands for a call that is not to run now.
func giveUp(context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
	return nil, nil, compose.ErrToolCallGivenUp
}
