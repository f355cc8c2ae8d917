package mcptool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Causes of contexts of requests that took too long.
var (
	errSilence = errors.New("no sign of life")
	errMaxTime = errors.New("Config.MaxTime is over")
)

// demand describes a request to the server.
type demand struct {
	// method is the method of the protocol, and target the tool, prompt or resource that it is for, "" for lists.
	method, target string
	// kind is the kind of an error that has no other. Default: Protocol.
	kind ErrorKind
	// repeatable: it may run twice.
	repeatable bool

	// What is known of the last attempt: the connection, nil if there was none, how far it came, and whether the tool
	// says that it failed.
	over       *session
	passage    *passage
	toolFailed bool
}

const callsTool = "tools/call"

// tool returns the name of the tool for errors, "" if the demand is not for one.
func (d *demand) tool() string {
	if d.method == callsTool {
		return d.target
	}
	return ""
}

// request has a function ask the server for something, over a connection that is made if there is none. It repeats once
// what cannot have run, or may run twice. Handlers of callbacks see it.
func request[T any](
	ctx context.Context, s *Server, d *demand, ask func(context.Context, *session) (T, error),
) (answer T, err error) {
	ctx, end := s.observe(ctx, d)
	answer, failed := attempts(ctx, s, d, ask)
	if called, ok := any(answer).(*mcp.CallToolResult); ok && failed == nil {
		d.toolFailed = called.IsError
	}
	end(failed)
	if failed == nil {
		return answer, nil
	}
	return answer, failed
}

// attempts makes one attempt, or two.
func attempts[T any](
	ctx context.Context, s *Server, d *demand, ask func(context.Context, *session) (T, error),
) (answer T, failed *CallError) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.link.life, func() { cancel(errClosed) })()
	if s.conf.MaxTime > 0 {
		defer time.AfterFunc(s.conf.MaxTime, func() { cancel(fmt.Errorf("%w: %v", errMaxTime, s.conf.MaxTime)) }).Stop()
	}
	kind := d.kind
	if kind == "" {
		kind = Protocol
	}
	if n := s.abandoned.Load(); n >= mostAbandonedRequests {
		return answer, s.fail(ctx, Connect, d.tool(), fmt.Errorf("%d requests were given up and have not ended", n))
	}
	for first := true; ; first = false {
		made, err := s.link.use(ctx)
		if err != nil {
			return answer, s.fail(ctx, Connect, d.tool(), err)
		}
		p := new(passage)
		d.over, d.passage = made, p
		with, _ := withRaw(context.WithValue(ctx, passageKey{}, p))
		answer, err = alive(with, s, d, func(ctx context.Context) (T, error) {
			defer s.link.release(made)
			answer, err := ask(ctx, made)
			if err != nil && context.Cause(ctx) != nil {
				err = s.fail(ctx, kind, d.tool(), err)
			}
			return answer, err
		})
		var settled *CallError
		if err == nil || errors.As(err, &settled) {
			return answer, settled
		}
		if _, isLarge := asOverLimit(err); isLarge {
			return answer, s.failedRequest(ctx, TooLarge, d, p, err)
		}
		dead := isDead(err)
		if dead {
			s.link.lost(made)
			err = made.describe(err)
		}
		f := fateOf(p, err, dead)
		if first && f.again(d.repeatable) {
			continue
		}
		return answer, s.failedRequest(ctx, f.kind(kind, d.repeatable), d, p, err)
	}
}

// failedRequest makes the error of a request that brought no result.
func (s *Server) failedRequest(ctx context.Context, kind ErrorKind, d *demand, p *passage, err error) *CallError {
	failed := s.fail(ctx, kind, d.tool(), err)
	if wire, ok := rpcError(failed.Err); ok {
		failed.Err = wire
	}
	failed.Err = p.hide(failed.Err)
	return failed
}

// fate says what is known of a request that brought no result:
//
//	answered    the server answered with an error of the protocol: it is over
//	undelivered the server cannot have run it, and the connection is of no use: it may be sent again
//	refused     the server cannot have run it, and would not another time
//	lost        unknown, since the answer did not arrive
//	unreadable  unknown, since the answer that arrived cannot be read
type fate int

const (
	answered fate = iota
	undelivered
	refused
	lost
	unreadable
)

func fateOf(p *passage, err error, dead bool) fate {
	status := p.status.Load()
	_, isAnswer := rpcError(err)
	switch {
	case isAnswer:
		return answered
	case p.refused(err) && dead:
		return undelivered
	case p.refused(err):
		return refused
	case dead, status == 0, status >= 500, strings.Contains(err.Error(), brokenOff):
		return lost
	}
	return unreadable
}

// again reports whether the request is sent again. repeatable: it may run twice.
func (f fate) again(repeatable bool) bool { return f == undelivered || f == lost && repeatable }

// kind returns the kind of the error. other is the kind of errors that say nothing of the connection.
func (f fate) kind(other ErrorKind, repeatable bool) ErrorKind {
	switch {
	case f == answered:
		return Protocol
	case (f == lost || f == unreadable) && !repeatable:
		return OutcomeUnknown
	case f == undelivered, f == lost:
		return Connect
	}
	return other
}

// brokenOff is in the SDK's error, which is no value of its own, when the stream of an answer has ended without the
// answer.
const brokenOff = "request terminated without response"

// isDead reports whether an error says that the connection is of no use any more. Pings cannot say that: the protocol
// has none since 2026-07-28.
func isDead(err error) bool {
	for _, end := range []error{mcp.ErrConnectionClosed, mcp.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF,
		io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED} {
		if errors.Is(err, end) {
			return true
		}
	}
	return isUndialled(err)
}

// isUndialled reports whether no connection of the network could be made.
func isUndialled(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// pulse keeps a request alive: beat puts its end off.
type pulse struct{ beat func() }

type pulseKey struct{}

// Bounds of requests that do not end with their context.
const (
	// lateEnd limits the time that a request that is over takes to return.
	lateEnd = time.Second
	// mostAbandonedRequests limits the requests that are still running although no caller waits for them any more: while
	// there are as many, no other request begins.
	mostAbandonedRequests = 64
)

// outcome is the result of a function that alive runs.
type outcome[T any] struct {
	answer T
	err    error
}

// alive runs a function with a context that ends when there is no sign of life for Config.Timeout. It returns when that
// is over, whatever the function does, whose outcome is dropped then.
func alive[T any](
	ctx context.Context, s *Server, d *demand, f func(context.Context) (T, error),
) (answer T, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.conf.Timeout, func() { cancel(fmt.Errorf("%w for %v", errSilence, s.conf.Timeout)) })
	defer timer.Stop()
	with := context.WithValue(ctx, pulseKey{}, pulse{func() { timer.Reset(s.conf.Timeout) }})
	done := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			if v := recover(); v != nil { // reading what a server sent can panic in the SDK
				o.err = fmt.Errorf("what the server sent cannot be read: %v", v)
			}
			done <- o
		}()
		o.answer, o.err = f(with)
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(lateEnd)
	defer late.Stop()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-late.C:
	}
	s.abandoned.Add(1)
	go func() {
		defer s.abandoned.Add(-1)
		<-done
	}()
	return answer, s.fail(ctx, Protocol, d.tool(), context.Cause(ctx))
}

// beat notes a sign of life of the server, in a context of alive.
func beat(ctx context.Context) {
	if p, ok := ctx.Value(pulseKey{}).(pulse); ok {
		p.beat()
	}
}

// inFlight is a call that the server has not answered yet.
type inFlight struct {
	call  Call
	meter *meter
	pulse pulse
	order int
	// coming are the notices that were read and not handed on yet, and settled is closed when there are none, if the end of
	// the call waits for that. The table guards both.
	coming  int
	settled chan struct{}
}

// callTable has the calls in flight, by their progress tokens, which no server can guess.
type callTable struct {
	// mu guards the fields below.
	mu    sync.Mutex
	calls map[string]*inFlight
	began int
}

// begin enters a call, and returns its token.
func (t *callTable) begin(c *inFlight) (token string) {
	token = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]*inFlight{}
	}
	t.began++
	c.order = t.began
	t.calls[token] = c
	return token
}

func (t *callTable) end(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, token)
}

// progress hands a notice to its call. One that comes after the result is dropped.
func (t *callTable) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	t.mu.Lock()
	c := t.calls[token]
	t.mu.Unlock()
	if c != nil {
		defer t.passedOn(c)
		c.pulse.beat()
		c.meter.report(Progress{Done: p.Progress, Total: p.Total, Message: clean(cutText(p.Message, longestMessage))})
	}
}

// elicited tells the calls in flight that the user has answered a question elsewhere: the protocol does not say which of
// them has asked it. It is a sign of life of all of them.
func (t *callTable) elicited(id string) {
	t.mu.Lock()
	flights := slices.Collect(maps.Values(t.calls))
	t.mu.Unlock()
	for _, c := range flights {
		c.pulse.beat()
		c.meter.elicited(cutText(id, longestMessage))
	}
}

// all are the calls in flight, the oldest first.
func (t *callTable) all() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	flights := make([]*inFlight, 0, len(t.calls))
	for _, c := range t.calls {
		flights = append(flights, c)
	}
	slices.SortFunc(flights, func(a, b *inFlight) int { return a.order - b.order })
	calls := make([]Call, len(flights))
	for i, c := range flights {
		calls[i] = c.call
	}
	return calls
}

// callTool calls a tool once, or twice where that does no harm.
func (s *Server) callTool(ctx context.Context, t *remoteTool, params mcp.CallToolParams) (*mcp.CallToolResult, error) {
	m := newMeter(func(p Progress) { s.publish(ctx, t, p) })
	defer m.finish()
	arguments, _ := params.Arguments.(json.RawMessage)
	d := &demand{method: callsTool, target: t.raw, repeatable: t.repeatable}
	return request(ctx, s, d, func(ctx context.Context, made *session) (*mcp.CallToolResult, error) {
		if t.inHeaders && !made.listed.Load() { // the SDK takes from the list what belongs into headers
			if _, _, err := s.readPages(context.WithValue(ctx, passageKey{}, new(passage)), made); err != nil {
				return nil, err
			}
		}
		p, _ := ctx.Value(pulseKey{}).(pulse)
		token := s.calls.begin(&inFlight{call: Call{Tool: t.raw, Arguments: string(arguments)}, meter: m, pulse: p})
		defer s.calls.end(token)
		own := params
		own.Meta = mcp.Meta{"progressToken": token}
		result, err := made.CallTool(ctx, &own)
		if err == nil {
			s.calls.settle(token)
		}
		return result, err
	})
}
