package mcptool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// cutsOff serves tools over HTTP, and cuts off the calls of one that it names: before the answer begins, or after.
func cutsOff(t *testing.T, s *mcp.Server, name string, begun bool) string {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte(`"name":"`+name+`"`)) {
			handler.ServeHTTP(w, r)
			return
		}
		if begun {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// A call whose answer breaks off may have run, whether the answer had begun or not; others are not disturbed.
// Rules mcp/MC4, mcp/MC5.
func TestCall_ThatIsCutOffHarmsNoOther(t *testing.T) {
	for _, begun := range []bool{false, true} {
		s := newServer()
		addTool(s, "pay", answers("never"))
		began, stop := make(chan struct{}), make(chan struct{})
		addTool(s, "wait", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			<-stop
			return says("waited"), nil
		})
		srv := open(t, mcptool.Config{URL: cutsOff(t, s, "pay", begun)})
		pay, wait := named(t, srv, "pay"), named(t, srv, "wait")
		waited := make(chan *schema.ToolResult, 1)
		go func() {
			result, err := call(context.Background(), wait, "{}")
			if err != nil {
				t.Error(err)
			}
			waited <- result
		}()
		<-began
		_, err := call(t.Context(), pay, "{}")
		failure(t, err, mcptool.OutcomeUnknown)
		close(stop)
		require.Equal(t, "waited", (<-waited).Parts[0].Text)
		require.Len(t, names(t, srv), 2)
	}
}

// What may run twice is called again.
// Rule mcp/MC5.
func TestCall_ThatMayRunTwiceIsCalledAgainWhenItBreaksOff(t *testing.T) {
	var calls atomic.Int32
	s := newServer()
	addTool(s, "read", answers("read"))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" && calls.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	srv := open(t, mcptool.Config{URL: web.URL, Idempotent: func(string) bool { return true }})
	result, err := call(t.Context(), named(t, srv, "read"), "{}")
	require.NoError(t, err)
	require.Equal(t, "read", result.Parts[0].Text)
	require.EqualValues(t, 2, calls.Load())
}

// A server that is reached over a connection which is dead already is asked again, and not taken for an older one.
// Rule mcp/MC4.
func TestServer_IsNotTakenForAnOlderOneWhenAConnectionIsCut(t *testing.T) {
	s := newServer()
	addTool(s, "version", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		version, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
		return says(version), nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	var cut atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cut.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	result, err := call(t.Context(), named(t, open(t, mcptool.Config{URL: web.URL}), "version"), "{}")
	require.NoError(t, err)
	require.Equal(t, "2026-07-28", result.Parts[0].Text)
}

// Arguments that a server wants in headers are there over each connection.
// Rule mcp/MC4.
func TestCall_HasItsHeadersOverANewConnection(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "where", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says(r.Extra.Header.Get("Mcp-Param-Region")), nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	var handshakes atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			handshakes.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	srv := open(t, mcptool.Config{URL: web.URL})
	where := named(t, srv, "where")
	for deadline := time.Now().Add(10 * time.Second); handshakes.Load() < 3; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "the connection is not made anew")
		if result, err := call(t.Context(), where, `{"region":"eu"}`); err == nil {
			require.Equal(t, "eu", result.Parts[0].Text)
			web.CloseClientConnections() // and the next connection is another one, sooner or later
		}
	}
}
