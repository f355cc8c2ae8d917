package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is the transport of one connection.
type wire struct {
	transport mcp.Transport
	// describe adds to an error what is known of the end of the connection, such as what the program last wrote.
	describe func(error) error
	// apart: each request has a connection of its own, and says nothing of the others when it is lost.
	apart bool
	// silent has an item when notices of the server do not arrive any more.
	silent chan struct{}
	// calls are announced what arrives of their progress.
	calls *callTable
	// most is the number of bytes that a message may have.
	most int
	log  *slog.Logger
	// missed is called when notices of the server may have been lost for a while.
	missed func()
	// authorizes: the SDK answers a refusal with an authorization, and sends the request again.
	authorizes bool
}

// wire makes what a connection runs over.
func (s *Server) wire(ctx context.Context) (*wire, error) {
	w := &wire{describe: func(err error) error { return err }, silent: make(chan struct{}, 1), calls: &s.calls,
		most: s.conf.MaxMessage, log: s.conf.Logger, missed: func() { s.tools.forget(); s.subs.missed() }}
	switch {
	case len(s.conf.Command) > 0:
		child, err := s.startChild()
		if err != nil {
			return nil, err
		}
		w.transport = &marking{&mcp.IOTransport{Reader: newLineReader(io.NopCloser(child.stdout), w), Writer: lines{child},
			MaxLineLength: -1}, w.calls}
		w.describe = child.describe
		return w, nil
	case s.conf.URL != "":
		home, _ := url.Parse(s.conf.URL) // was checked
		w.apart, w.authorizes = true, s.conf.OAuth != nil
		w.transport = &mcp.StreamableClientTransport{Endpoint: s.conf.URL, OAuthHandler: s.conf.OAuth, MaxEventSize: -1,
			HTTPClient: w.client(s.conf.HTTPClient, home, s.conf.headerOf)}
		return w, nil
	}
	t, err := s.conf.Transport(ctx)
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case nil:
		return nil, errors.New("Config.Transport returned nil")
	case *mcp.StreamableClientTransport: // the SDK knows its own by their connections, which must not be wrapped
		own := *t
		w.apart, w.authorizes = true, t.OAuthHandler != nil
		own.HTTPClient, own.MaxEventSize = w.client(t.HTTPClient, nil, nil), -1
		w.transport = &own
	case *mcp.SSEClientTransport:
		own := *t
		own.HTTPClient, own.MaxEventSize = w.client(t.HTTPClient, nil, nil), -1
		w.transport = &own
	case *mcp.IOTransport:
		own := *t
		own.Reader, own.Writer, own.MaxLineLength = newLineReader(t.Reader, w), lines{t.Writer}, -1
		w.transport = &marking{&own, w.calls}
	default:
		w.transport = &marking{t, w.calls}
	}
	return w, nil
}

// passage tracks one request on its way to the server. It is in the context of the request.
type passage struct {
	// sent: the request may have left the process as a whole.
	sent atomic.Bool
	// status is the status of the answer of HTTP, 0 as long as the last attempt has none. A success is not changed any more:
	// what follows it in the same context, such as opening a broken stream again, says nothing of the request.
	status atomic.Int32
	// id is the ID of the request, a string, if the transport shows it.
	id atomic.Value
	// mu guards secrets, the texts that were sent and that errors must not have.
	mu      sync.Mutex
	secrets []string
	// challenged: the request was refused once, to be authorized.
	challenged atomic.Bool
}

// hide returns an error without what was sent in secret.
func (p *passage) hide(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return hide(err, p.secrets)
}

func (p *passage) addSecrets(secrets []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secrets = append(p.secrets, secrets...)
}

// leaves notes that the request leaves the process, perhaps once more: after it was authorized, or redirected. What was
// answered before says nothing of this attempt.
func (p *passage) leaves() {
	p.sent.Store(true)
	p.answered(0)
}

// answered notes the status of an answer, 0 for none.
func (p *passage) answered(status int) {
	for {
		before := p.status.Load()
		if before >= 200 && before < 300 || p.status.CompareAndSwap(before, int32(status)) {
			return
		}
	}
}

type passageKey struct{}

func passageOf(ctx context.Context) *passage {
	if p, ok := ctx.Value(passageKey{}).(*passage); ok {
		return p
	}
	return new(passage)
}

// refused: the server cannot have run what was asked.
func (p *passage) refused(err error) bool {
	status := p.status.Load()
	unreached := errors.Is(err, syscall.ECONNREFUSED) || isUndialled(err)
	return !p.sent.Load() || status >= 300 && status < 500 || status == 0 && unreached
}

// lines writes messages, each of which is one JSON value and a line break.
type lines struct{ io.WriteCloser }

// cutLine is the error of a write that broke off inside of its value. The other side cannot have read the message.
type cutLine struct{ error }

func (c *cutLine) Unwrap() error { return c.error }

// Write writes one message. Readers may take a value without waiting for the line break: what lacks nothing else is
// not cut.
func (l lines) Write(p []byte) (int, error) {
	n, err := l.WriteCloser.Write(p)
	if err != nil && n < len(p)-1 {
		err = &cutLine{err}
	}
	return n, err
}

// marking notes which requests were written, and announces progress.
type marking struct {
	mcp.Transport
	calls *callTable
}

func (m *marking) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := m.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &markingConnection{Connection: c, calls: m.calls}, nil
}

type markingConnection struct {
	mcp.Connection
	raw   rawTable
	calls *callTable
}

// Read reads a message.
func (c *markingConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		c.raw.answered(m)
		c.calls.announceMessage(m)
	}
	return m, err
}

// stuckWrite is the time for which a write may go on after its context has ended.
const stuckWrite = time.Second

// Write writes a message. Streams know nothing of contexts: if the other side does not read, the connection is closed,
// since it is not known how much of the message was sent.
func (c *markingConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	written := make(chan struct{})
	defer close(written)
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(stuckWrite)
		defer timer.Stop()
		select {
		case <-written:
		case <-timer.C:
			_ = c.Close()
		}
	})()
	if r, isRequest := m.(*jsonrpc.Request); isRequest && r.ID.IsValid() {
		passageOf(ctx).id.Store(fmt.Sprint(r.ID.Raw()))
	}
	c.raw.asked(ctx, m)
	err := c.Connection.Write(ctx, m)
	var cut *cutLine
	if !errors.As(err, &cut) { // an error of any other kind does not say how much is out
		passageOf(ctx).sent.Store(true)
	}
	return err
}

// notices is the stream of what a server sends by itself. The SDK does not say that it has ended.
type notices struct {
	io.ReadCloser
	ctx    context.Context
	silent chan struct{}
}

// Read reads, and notes the end of the stream, unless that is our own doing.
func (n *notices) Read(p []byte) (int, error) {
	k, err := n.ReadCloser.Read(p)
	if err != nil && n.ctx.Err() == nil {
		put(n.silent)
	}
	return k, err
}
