// Package eager runs tool calls while the model still streams the answer that makes them.
//
// Package adk feeds it the chunks of an answer, and gives what runs already to the tools node when the answer stands.
// It must never import package adk, nor know what an agent is: the run that calls belong to is any value that identifies
// it, and an event is two functions.
package eager

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Tools runs the tools of an agent. It is shared by many speculations and not changed.
type Tools struct {
	// Call runs one call, as the tools node does. A panic is its error.
	Call func(ctx context.Context, call schema.ToolCall,
		opts []tool.Option,
	) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error)
	// Limit is the number of calls that run at once, 0 for no limit.
	Limit int
	// IsFinal reports whether an error ends the run as it is, such as an interrupt: others say which call failed.
	IsFinal func(error) bool
	// Stopped is the error of calls that do not start because the run is to stop.
	Stopped error
}

// speculationPhase is the state of the calls of a speculation.
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

// A Speculation is the tool calls that one attempt of the model has started. Nothing of them is seen outside before
// the tools node has adopted them, because the attempt may be rejected and the message changed by hooks: their events
// are held until then. Methods of a nil speculation do nothing. It is safe for concurrent use.
type Speculation struct {
	// Run identifies the run that makes the calls, and Context is what they run in.
	Run     any
	Tools   *Tools
	Context context.Context
	Options []tool.Option
	// Allowed, if not nil, says which tools may be started.
	Allowed func(name string) bool

	joins joins

	mu      sync.Mutex // guards all fields below, and is taken before the lock of a call
	phase   speculationPhase
	order   []*Call // the calls as they were started
	waiting []*Call
	running int
	idle    sync.Cond // running is 0; its lock is mu
}

// Feed takes the pieces of calls in a chunk and starts the calls that they complete.
func (s *Speculation) Feed(pieces []schema.ToolCall) {
	if s == nil {
		return
	}
	for i := range pieces {
		call, at, err := s.joins.add(&pieces[i])
		if err != nil {
			s.Abort(err)
			return
		}
		if call != nil && (s.Allowed == nil || s.Allowed(call.Function.Name)) {
			s.start(*call, at)
		}
	}
}

// start runs a call.
func (s *Speculation) start(tc schema.ToolCall, at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != collecting {
		return
	}
	call := &Call{of: s, call: tc, life: s.Context, done: make(chan struct{})}
	life := s.Context
	if at.before > 0 {
		life = compose.InternalAtPlace(life, at.label, at.before)
	}
	call.ctx, call.cancel = context.WithCancelCause(context.WithValue(life, callKey{}, call))
	s.order = append(s.order, call)
	if s.Tools.Limit > 0 && s.running >= s.Tools.Limit {
		s.waiting = append(s.waiting, call)
		return
	}
	s.running++
	go s.work(call)
}

// work runs a call, and then those that wait.
func (s *Speculation) work(call *Call) {
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
func (s *Speculation) next() (call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		call, s.waiting = s.waiting[0], s.waiting[1:]
	} else if s.running--; s.running == 0 {
		s.idle.Broadcast()
	}
	return call
}

func (s *Speculation) runOne(call *Call) {
	defer call.finish()
	if cause := context.Cause(call.ctx); cause != nil {
		call.err = cause
		return
	}
	call.err = errors.New("the tool ended its goroutine (runtime.Goexit)") // unless it comes back
	call.text, call.result, call.err = s.Tools.Call(call.ctx, call.call, s.Options)
}

// Abort gives everything up that the tools node has not adopted: nothing more starts, what runs is cancelled, what there
// is is dropped.
func (s *Speculation) Abort(cause error) {
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

// Drain has no more calls started, and reports whether some have been.
func (s *Speculation) Drain() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != collecting || len(s.order) == len(s.waiting) {
		return false
	}
	s.phase = draining
	for _, c := range s.waiting {
		c.discard(s.Tools.Stopped)
	}
	s.order = slices.DeleteFunc(s.order, func(c *Call) bool { return slices.Contains(s.waiting, c) })
	s.waiting = nil
	return true
}

// StopsRun reports whether the run is to stop when the results are there. Of nil it is false.
func (s *Speculation) StopsRun() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase == drained
}

// AdoptInto returns the early calls that are calls of the message, by their place in it, and gives up the others. In a
// run that is to stop, calls that were not started early are not to run.
func (s *Speculation) AdoptInto(ctx context.Context, calls []schema.ToolCall) ([]compose.EarlyToolCall, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Tools.Limit == 1 { // the node must not run one beside them
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
		if c := s.adopt(&calls[i]); c != nil {
			into[i] = c.await
		}
	}
	for _, c := range s.order {
		if !c.adopted {
			c.discard(errMessageChanged)
		}
	}
	if s.phase == drained {
		for i := range into {
			if into[i] == nil {
				into[i] = giveUp
			}
		}
	}
	return into, nil
}

// adopt returns the first call that was started for one of the message and is no other one's. Calls that are the same in
// all, also in their IDs, are calls of their own. (agent/E-24) s.mu is locked.
func (s *Speculation) adopt(call *schema.ToolCall) *Call {
	for _, c := range s.order {
		if !c.adopted && c.is(call) {
			c.adopted = true
			return c
		}
	}
	return nil
}

// waitIdle waits until no call runs, or ctx ends. s.mu is locked.
func (s *Speculation) waitIdle(ctx context.Context) {
	s.idle.L = &s.mu
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})()
	for s.running > 0 && ctx.Err() == nil {
		s.idle.Wait()
	}
}

// Publish lets out what the adopted calls have held back, and what they will send.
func (s *Speculation) Publish() error {
	if s == nil {
		return nil
	}
	for _, c := range s.order {
		if err := c.release(); err != nil {
			return err
		}
	}
	return nil
}

// Close frees what the calls hold: their contexts, and results that were not taken. It is called when the results have
// been read, or the run continues without them.
func (s *Speculation) Close() {
	if s == nil {
		return
	}
	s.Abort(errRunOver)
	for _, c := range s.order {
		c.close(errRunOver)
	}
}

var (
	errMessageChanged = errors.New("the tool call is not, or not like this, in the message that the agent continues with")
	errRunOver        = errors.New("the tool calls of the message are done")
)

// giveUp stands for a call that is not to run now.
func giveUp(context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
	return nil, nil, compose.ErrToolCallGivenUp
}
