package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscription is one call of [Server.Subscribe].
type subscription struct {
	uri string
	// dirty has an item when the resource has changed, and taken one when the server has taken the subscription.
	dirty, taken chan struct{}
}

// subscriptions are the subscriptions that there are, by the addresses of their resources.
type subscriptions struct {
	// mu guards all.
	mu  sync.Mutex
	all map[string]*subscription
}

// begin enters a subscription, unless there is one.
func (t *subscriptions) begin(uri string) (*subscription, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[uri] != nil {
		return nil, false
	}
	if t.all == nil {
		t.all = map[string]*subscription{}
	}
	sub := &subscription{uri: uri, dirty: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
	t.all[uri] = sub
	return sub, true
}

func (t *subscriptions) end(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, sub.uri)
}

// changed notes that a resource has changed: one that is subscribed to, or a part of one.
func (t *subscriptions) changed(uri string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sub := range t.all {
		if strings.HasPrefix(uri, sub.uri) {
			put(sub.dirty)
		}
	}
}

// missed marks every subscription as changed, since notices may have been lost.
func (t *subscriptions) missed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sub := range t.all {
		put(sub.dirty)
	}
}

// taken notes which subscriptions the server has taken.
func (t *subscriptions) taken(uris []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, uri := range uris {
		if sub := t.all[uri]; sub != nil {
			put(sub.taken)
		}
	}
}

// put puts an item into a channel that has none.
func put(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take takes the item out of a channel, if there is one.
func take(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// Subscribe calls a function when it begins, whenever the server says that a resource or a part of it has changed, and
// after each connection that was lost, since notices may have been missed. Changes while it runs are one. Subscribe
// returns when ctx ends, with its error; when the function returns an error, with that; or with a *[CallError] when the
// server does not take the subscription, or the Server is closed. There can be one for a resource at a time.
func (s *Server) Subscribe(ctx context.Context, uri string, changed func(ctx context.Context) error) error {
	sub, first := s.subs.begin(uri)
	if !first {
		return fmt.Errorf("MCP server %q: there is a subscription to %s already", s.conf.Name, oneLine(uri))
	}
	defer s.subs.end(sub)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.link.life, func() { cancel(errClosed) })()
	for {
		made, err := s.subscribed(ctx, sub)
		if err != nil {
			return err
		}
		err = s.watch(ctx, sub, made, changed)
		if err != nil {
			s.unsubscribe(ctx, sub, made)
			return err
		}
	}
}

// watch calls a function for each change, until the connection is lost.
func (s *Server) watch(
	ctx context.Context, sub *subscription, made *session, changed func(context.Context) error,
) error {
	for {
		if err := callChanged(ctx, changed); err != nil {
			return err
		}
		select {
		case <-sub.dirty:
		case <-made.ended:
			return nil
		case <-ctx.Done():
			if s.link.life.Err() != nil { // whatever else has ended meanwhile
				return s.fail(context.WithoutCancel(ctx), Connect, "", errClosed)
			}
			return ctx.Err()
		}
	}
}

func callChanged(ctx context.Context, changed func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("mcptool: panic in the function of Subscribe: %v", v)
		}
	}()
	return changed(ctx)
}

// subscribed subscribes over a connection that is made if there is none. It waits for a server that cannot be reached.
func (s *Server) subscribed(ctx context.Context, sub *subscription) (made *session, err error) {
	for {
		d := &demand{method: "resources/subscribe", target: sub.uri, repeatable: true}
		made, err = request(ctx, s, d, func(ctx context.Context, over *session) (*session, error) {
			return over, s.subscribeOver(ctx, sub, over)
		})
		var failed *CallError
		if err == nil || !errors.As(err, &failed) || failed.Kind != Connect && failed.Kind != Timeout || ctx.Err() != nil {
			return made, err
		}
		s.conf.Logger.WarnContext(ctx, "changes of a resource are not noticed for now", "resource", sub.uri, "error", err)
		if pause(ctx, time.Second) != nil {
			return nil, s.fail(ctx, Connect, "", err)
		}
	}
}

func (s *Server) subscribeOver(ctx context.Context, sub *subscription, over *session) error {
	known := over.InitializeResult()
	if known == nil || known.Capabilities == nil || known.Capabilities.Resources == nil ||
		!known.Capabilities.Resources.Subscribe {
		return s.fail(ctx, Protocol, "", errors.New("it reports no changes of resources"))
	}
	take(sub.taken)
	if err := over.Subscribe(ctx, &mcp.SubscribeParams{URI: sub.uri}); err != nil {
		return err
	}
	if known.ProtocolVersion < firstModern { // it has answered
		return nil
	}
	select {
	case <-sub.taken:
		return nil
	case <-over.ended:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstModern is the first version of the protocol in which servers say in a stream what subscriptions they have taken.
const firstModern = "2026-07-28"

// unsubscribe ends a subscription, if the server is there.
func (s *Server) unsubscribe(ctx context.Context, sub *subscription, over *session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := over.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: sub.uri}); err != nil && !isDead(err) {
		s.conf.Logger.DebugContext(ctx, "a subscription was not ended", "resource", sub.uri, "error", err)
	}
}

// incoming sees what the server sends by itself.
func (s *Server) incoming(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.SubscriptionsAcknowledgedParams); ok && p != nil {
			s.subs.taken(p.Notifications.ResourceSubscriptions)
		}
		return next(ctx, method, r)
	}
}
