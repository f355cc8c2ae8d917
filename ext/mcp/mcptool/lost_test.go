package mcptool_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// isCall reports whether a request calls a tool.
func isCall(r *http.Request) bool { return r.Header.Get("Mcp-Method") == "tools/call" }

// losing is an HTTP server with a tool, pay, whose calls are answered by a function, and how often it was called.
func losing(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	s := newServer()
	addTool(s, "pay", answers("paid"))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	ran := new(atomic.Int32)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isCall(r) {
			handler.ServeHTTP(w, r)
			return
		}
		ran.Add(1)
		answer(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web, ran
}

// failing is a transport whose calls of tools fail with an error, instead of an answer that was on its way.
type failing struct {
	err   error
	calls atomic.Int32
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isCall(r) {
		return http.DefaultTransport.RoundTrip(r)
	}
	f.calls.Add(1)
	return nil, f.err
}

func written(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

// silent takes a request, and waits until its client is gone.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// A call that was sent, and that the server neither refused nor answered, may have run or not: it is not sent again.
// Rule mcp/MC5.
func TestCall_WithoutAReadableAnswerHasAnUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		client func(*http.Client)
		http2  bool
	}{
		"the client's own time is over": {answer: silent,
			client: func(c *http.Client) { c.Timeout = 200 * time.Millisecond }},
		"a stream of HTTP/2 is reset": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http2: true},
		"the answer is a web page":    {answer: written("text/html", "<p>welcome</p>")},
		"the answer is no JSON":       {answer: written("application/json", "welcome")},
		"the answer is cut":           {answer: written("application/json", `{"jsonrpc":"2.0","id":2,"result":{"con`)},
		"an event is no JSON":         {answer: written("text/event-stream", "data: welcome\n\n")},
	} {
		t.Run(name, func(t *testing.T) {
			web, ran := losing(t, c.answer)
			if web.EnableHTTP2 = c.http2; c.http2 {
				web.StartTLS()
			} else {
				web.Start()
			}
			client := web.Client()
			if c.client != nil {
				c.client(client)
			}
			srv := open(t, mcptool.Config{URL: web.URL, HTTPClient: client})
			_, err := call(t.Context(), named(t, srv, "pay"), "{}")
			failure(t, err, mcptool.OutcomeUnknown)
			require.EqualValues(t, 1, ran.Load())
			require.NoError(t, srv.Refresh(t.Context()), "it can be used again")
		})
	}
}

// Rule mcp/MC5.
func TestCall_ThatTheNetworkLosesHasAnUnknownOutcome(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)},
		&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.EHOSTUNREACH)},
		errors.New("http2: server sent GOAWAY and closed the connection"),
	} {
		web, _ := losing(t, nil)
		web.Start()
		lossy := &failing{err: err}
		pay := named(t, open(t, mcptool.Config{URL: web.URL, HTTPClient: &http.Client{Transport: lossy}}), "pay")
		_, err := call(t.Context(), pay, "{}")
		failure(t, err, mcptool.OutcomeUnknown)
		require.EqualValues(t, 1, lossy.calls.Load())
	}
}

// A call for which there was no connection cannot have run: it is sent once more.
// Rule mcp/MC5.
func TestCall_ThatCouldNotBeDialledIsSentAgain(t *testing.T) {
	web, _ := losing(t, nil)
	web.Start()
	unreachable := &failing{err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}}
	pay := named(t, open(t, mcptool.Config{URL: web.URL, HTTPClient: &http.Client{Transport: unreachable}}), "pay")
	_, err := call(t.Context(), pay, "{}")
	failure(t, err, mcptool.Connect)
	require.EqualValues(t, 2, unreachable.calls.Load())
}
