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

// demand is what a request asks of the server.
type demand struct {
	// method is that of the protocol, and target the tool, prompt or resource that it is for, "" for lists.
	method, target string
	// kind is that of an error that has no other. Default: Protocol.
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

// tool is what errors call the tool, "" if the demand is not for one.
func (d *demand) tool() string {
	if d.method == callsTool {
		return d.target
	}
	return ""
}

// request has a function ask the server for something, over a connection that is made if there is none. It repeats once
// what cannot have run, or may run twice. Handlers of callbacks see it.
func (s *Server) request(ctx context.Context, d *demand, ask func(context.Context, *session) error) error {
	ctx, end := s.observe(ctx, d)
	failed := s.attempt(ctx, d, ask)
	end(failed)
	if failed == nil {
		return nil
	}
	return failed
}

// attempt makes one attempt, or two.
func (s *Server) attempt(ctx context.Context, d *demand, ask func(context.Context, *session) error) *CallError {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.link.life, func() { cancel(errClosed) })()
	if s.conf.MaxTime > 0 {
		defer time.AfterFunc(s.conf.MaxTime, func() { cancel(fmt.Errorf("%w: %v", errMaxTime, s.conf.MaxTime)) }).Stop()
	}
	tool, kind := d.tool(), d.kind
	if kind == "" {
		kind = Protocol
	}
	for first := true; ; first = false {
		made, err := s.link.use(ctx)
		if err != nil {
			return s.fail(ctx, Connect, tool, err)
		}
		p := new(passage)
		d.over, d.passage = made, p
		err = s.alive(context.WithValue(ctx, passageKey{}, p), func(ctx context.Context) error {
			defer s.link.release(made)
			if err := ask(ctx, made); err != nil {
				if context.Cause(ctx) != nil {
					return s.fail(ctx, kind, tool, err)
				}
				return err
			}
			return nil
		})
		if err == nil {
			return nil
		}
		var settled *CallError
		if errors.As(err, &settled) {
			return settled
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
		failed := s.fail(ctx, f.kind(kind, d.repeatable), tool, err)
		if wire, ok := rpcError(failed.Err); ok {
			failed.Err = wire
		}
		failed.Err = p.hide(failed.Err)
		return failed
	}
}

// fate is what is known of a request that brought no result:
//
//	answered    the server answered with an error of the protocol: it is over
//	undelivered the server cannot have run it, and the connection is of no use: it may be sent again
//	refused     the server cannot have run it, and would not another time
//	lost        nobody knows, since the answer did not arrive
//	unreadable  nobody knows, since the answer that arrived is none
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

// kind is that of the error, other that of one that says nothing of the connection.
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

// brokenOff is what the SDK says, and has no value for, when the stream of an answer has ended without the answer.
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

// pulse is how a request is kept alive: beat puts its end off.
type pulse struct{ beat func() }

type pulseKey struct{}

// alive runs a function with a context that ends when there is no sign of life for Config.Timeout.
func (s *Server) alive(ctx context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.conf.Timeout, func() { cancel(fmt.Errorf("%w for %v", errSilence, s.conf.Timeout)) })
	defer timer.Stop()
	defer func() { // reading what a server sent can panic in the SDK
		if v := recover(); v != nil {
			err = fmt.Errorf("what the server sent cannot be read: %v", v)
		}
	}()
	return f(context.WithValue(ctx, pulseKey{}, pulse{func() { timer.Reset(s.conf.Timeout) }}))
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

// callTable has the calls in flight, by their progress tokens, which nobody can guess.
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
		c.meter.report(Progress{Done: p.Progress, Total: p.Total, Message: cutText(p.Message, longestMessage)})
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
	var result *mcp.CallToolResult
	d := &demand{method: callsTool, target: t.raw, repeatable: t.repeatable}
	err := s.request(ctx, d, func(ctx context.Context, made *session) (err error) {
		if t.inHeaders && !made.listed.Load() { // the SDK takes from the list what belongs into headers
			if _, _, err := s.readPages(context.WithValue(ctx, passageKey{}, new(passage)), made); err != nil {
				return err
			}
		}
		p, _ := ctx.Value(pulseKey{}).(pulse)
		token := s.calls.begin(&inFlight{call: Call{Tool: t.raw, Arguments: string(arguments)}, meter: m, pulse: p})
		defer s.calls.end(token)
		own := params
		own.Meta = mcp.Meta{"progressToken": token}
		if result, err = made.CallTool(ctx, &own); err == nil {
			s.calls.settle(token)
		}
		d.toolFailed = err == nil && result.IsError
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}
