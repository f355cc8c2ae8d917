package mcptool

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is an MCP server as its client sees it. It is safe for concurrent use, and may serve any number of agents and
// runs at once.
type Server struct {
	conf   Config
	client *mcp.Client
	link   *link
	tools  *listCache
	// calls are the calls in flight.
	calls callTable
	subs  subscriptions
	logs  logGate
	// abandoned counts the requests that are still running although no caller waits for them any more.
	abandoned atomic.Int32
	// told has the tools that were said to be left out, as values of NameTaken.
	told sync.Map
}

// New checks the configuration. It does not connect: the first use does, so that an agent can be built while the server
// is down. The Server must be closed.
func New(conf Config) (*Server, error) {
	conf, err := conf.ready()
	if err != nil {
		return nil, err
	}
	s := &Server{conf: conf, tools: newListCache()}
	s.client = s.newClient()
	s.link = newLink(conf.ConnectTimeout, s.connect)
	return s, nil
}

// Name is the name of the configuration.
func (s *Server) Name() string { return s.conf.Name }

// Ready connects, if there is no connection yet, and waits for it.
func (s *Server) Ready(ctx context.Context) error {
	made, err := s.link.use(ctx)
	if err != nil {
		return s.fail(ctx, Connect, "", err)
	}
	s.link.release(made)
	return nil
}

// Close ends the connection and the calls in flight, stops the program that Command started, and waits for that: up to
// 10 seconds if it does not stop when asked. What has not ended after 12 seconds is abandoned, which is an error. Calls
// after it fail. It may be called more than once.
func (s *Server) Close() error {
	if err := s.link.close(); err != nil {
		return fmt.Errorf("MCP server %q: %w", s.conf.Name, err)
	}
	return nil
}

// newClient makes what speaks the protocol. The connections of a server share it.
func (s *Server) newClient() *mcp.Client {
	opts := &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities:   s.capabilities(),
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.tools.forget()
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			if r.Params != nil {
				s.subs.changed(r.Params.URI)
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.calls.progress(r.Params)
		},
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
			if r.Params != nil {
				s.calls.elicited(r.Params.ElicitationID)
			}
		},
		LoggingMessageHandler: func(ctx context.Context, r *mcp.LoggingMessageRequest) { s.log(ctx, r.Params) },
	}
	s.addHandlers(opts)
	client := mcp.NewClient(&mcp.Implementation{Name: "weft", Version: "1"}, opts)
	client.AddSendingMiddleware(s.outgoing)
	client.AddReceivingMiddleware(s.incoming)
	client.AddRoots(s.conf.Roots...)
	return client
}

// connect makes one connection.
func (s *Server) connect(ctx context.Context) (*session, error) {
	w, err := s.wire(ctx)
	if err != nil {
		return nil, err
	}
	p := new(passage)
	ctx = context.WithValue(context.WithValue(ctx, connectingKey{}, &unreachable{}), passageKey{}, p)
	made, err := s.client.Connect(ctx, w.transport, nil)
	if err != nil {
		return nil, p.hide(w.describe(err))
	}
	return &session{ClientSession: made, wire: w, ended: make(chan struct{}), report: s.observeSession(ctx, made)}, nil
}
