package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// largestRefusal limits how much is read of a server's answer that refuses a request.
const largestRefusal = 64 << 10

// client is a copy of a client that notes the way of requests, adds headers to those for one host, and keeps what is wrong
// with an answer from what else continues over the connection.
func (w *wire) client(c *http.Client, home *url.URL, header func(context.Context) (http.Header, error)) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	own := *c
	own.Transport = &markingTripper{wire: w, next: c.Transport, home: home, header: header, limit: c.Timeout,
		streamable: w.apart}
	own.Timeout = 0 // the tripper keeps it, but for the stream of notices
	own.CheckRedirect = atHome(c.CheckRedirect)
	return &own
}

// mostRedirects is the number of times that a request is sent to another address of its server.
const mostRedirects = 10

// atHome refuses redirects to other origins: requests have the arguments of the model in them, and _meta.
func atHome(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case r.URL.Scheme != first.Scheme || r.URL.Host != first.Host:
			return fmt.Errorf("the server redirects to another origin, %s://%s, where nothing was sent: "+
				"if it is right, set Config.URL to it", r.URL.Scheme, r.URL.Host)
		case next != nil:
			return next(r, via)
		case len(via) >= mostRedirects:
			return fmt.Errorf("the server redirects more than %d times", mostRedirects)
		}
		return nil
	}
}

type markingTripper struct {
	*wire
	next   http.RoundTripper
	home   *url.URL
	header func(context.Context) (http.Header, error)
	// limit limits the time that a request takes with its answer, 0 for no limit.
	limit time.Duration
	// streamable: answers come as those to their requests, and not in one stream.
	streamable bool
}

// RoundTrip implements http.RoundTripper.
func (t *markingTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.streamable && r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "" {
		s := &standing{tripper: t, request: r}
		response := s.response()
		response.Body = &announcing{ReadCloser: s, calls: t.calls}
		return response, nil
	}
	if t.limit > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), t.limit)
		response, err := t.answered(r.WithContext(ctx))
		if err != nil {
			cancel()
			return nil, err
		}
		response.Body = &limited{response.Body, cancel}
		return response, nil
	}
	return t.answered(r)
}

// limited ends its context when it is closed.
type limited struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (l *limited) Close() error {
	defer l.cancel()
	return l.ReadCloser.Close()
}

// answered sends a request, and returns an answer that can be read, or an error of this request alone.
func (t *markingTripper) answered(r *http.Request) (*http.Response, error) {
	q := contentOf(r)
	response, err := t.send(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return t.refused(r, q, response)
	}
	switch {
	case isEventStream(response):
		stream := newEvents(response.Body, t.wire, q.id(), rawOf(r.Context()))
		response.Body = &announcing{ReadCloser: stream, calls: t.calls}
	case t.streamable && q.isCall():
		return t.whole(r, q, response)
	}
	if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
		response.Body = &notices{response.Body, r.Context(), t.silent}
	}
	return response, nil
}

// send sends a request with its headers.
func (t *markingTripper) send(r *http.Request) (*http.Response, error) {
	var h http.Header
	if t.header != nil && r.URL.Host == t.home.Host && r.URL.Scheme == t.home.Scheme {
		var err error
		if h, err = t.header(r.Context()); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		for name, values := range h {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	p := passageOf(r.Context())
	p.addSecrets(secretsIn(h, r))
	p.leaves()
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(r)
	if err == nil {
		p.answered(response.StatusCode)
	}
	return response, err
}

// content has the fields that are read of the body of an HTTP request.
type content struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// isCall: the message waits for an answer.
func (c content) isCall() bool { return len(c.ID) > 0 && c.Method != "" }

// id is the ID of a call, nil if it is none.
func (c content) id() json.RawMessage {
	if !c.isCall() {
		return nil
	}
	return c.ID
}

// contentOf reads the message of a request.
func contentOf(r *http.Request) (c content) {
	if r.GetBody == nil {
		return c
	}
	body, err := r.GetBody()
	if err != nil {
		return c
	}
	defer body.Close()
	_ = json.NewDecoder(body).Decode(&c) // it was written by the SDK
	return c
}

// refused makes of a refusal what costs no more than what was refused.
func (t *markingTripper) refused(r *http.Request, q content, response *http.Response) (*http.Response, error) {
	said, _ := io.ReadAll(io.LimitReader(response.Body, largestRefusal)) // what is missing is not worth an error
	_ = response.Body.Close()
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(said)), int64(len(said))
	status := response.StatusCode
	_, connects := r.Context().Value(connectingKey{}).(*unreachable)
	p := passageOf(r.Context())
	switch {
	case status/100 == 3 && response.Header.Get("Location") != "", r.Method != http.MethodPost, connects:
		return response, nil
	case !q.isCall(): // notices are for the server's sake
		t.log.DebugContext(r.Context(), "an MCP server refuses a notice", "method", q.Method, "status", status)
		response.StatusCode, response.Status = http.StatusAccepted, "202 Accepted"
		return response, nil
	case status == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "", status == http.StatusTooManyRequests,
		(status == http.StatusUnauthorized || status == http.StatusForbidden) && t.authorizes && p.challenged.CompareAndSwap(false, true):
		return response, nil
	}
	if m, err := jsonrpc.DecodeMessage(said); err == nil {
		if answer, ok := m.(*jsonrpc.Response); ok && answer.Error != nil {
			return response, nil
		}
	}
	return nil, fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
}

// whole reads the answer to a call, which is one message.
func (t *markingTripper) whole(r *http.Request, q content, response *http.Response) (*http.Response, error) {
	defer response.Body.Close()
	kind := response.Header.Get("Content-Type")
	if !strings.HasPrefix(strings.ToLower(kind), "application/json") {
		return nil, fmt.Errorf("the answer is of the unknown type %q", clean(kind))
	}
	read := pieces{most: t.most}
	var large *overLimit
	err := read.readFrom(response.Body)
	if errors.As(err, &large) {
		t.log.WarnContext(r.Context(), "a message of an MCP server is left out", "error", err)
		read.reset()
		read.add(replacement(q.ID, t.most))
	} else if err != nil {
		return nil, err
	}
	body := shallow(read.join())
	m, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if answer, ok := m.(*jsonrpc.Response); ok && !sameID(answer.ID, q.ID) {
		return nil, errors.New("the answer is to another request")
	}
	rawOf(r.Context()).keep(m)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// sameID reports whether an ID is that which was sent.
func sameID(id jsonrpc.ID, sent json.RawMessage) bool {
	text, err := json.Marshal(id.Raw())
	return err == nil && bytes.Equal(text, bytes.TrimSpace(sent))
}
