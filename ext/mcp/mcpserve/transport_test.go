package mcpserve_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// post sends one request to a server, and returns what it answers.
func post(t *testing.T, h http.Handler, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Rule mcp/MS6.
func TestHandler_LetsInWhomItIsToLetIn(t *testing.T) {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return nil, auth.ErrInvalidToken
	}
	elsewhere := map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}
	for name, c := range map[string]struct {
		options mcpserve.HTTPOptions
		headers map[string]string
		status  int
		session bool
	}{
		"a program":              {mcpserve.HTTPOptions{}, nil, 200, false},
		"one with a session":     {mcpserve.HTTPOptions{Sessions: true}, nil, 200, true},
		"a page elsewhere":       {mcpserve.HTTPOptions{}, elsewhere, 403, false},
		"a page that is trusted": {mcpserve.HTTPOptions{Origins: []string{"https://evil.example.com"}}, elsewhere, 200, false},
		"nobody":                 {mcpserve.HTTPOptions{Verify: verify}, nil, 401, false},
		"somebody unknown":       {mcpserve.HTTPOptions{Verify: verify}, map[string]string{"Authorization": "Bearer x"}, 401, false},
	} {
		s := newServer(t, mcpserve.Config{})
		h, err := s.Handler(c.options)
		require.NoError(t, err)
		w := post(t, h, c.headers)
		require.Equal(t, c.status, w.Code, "%s: %s", name, w.Body)
		require.Equal(t, c.session, w.Header().Get("Mcp-Session-Id") != "", name)
		for session := range s.MCP().Sessions() {
			_ = session.Close()
		}
	}
	_, err := newServer(t, mcpserve.Config{}).Handler(mcpserve.HTTPOptions{Origins: []string{"no origin"}})
	require.ErrorContains(t, err, "Origins")
}

// Over standard input and output, too, a client is asked: within its call if it is an older one, by the answer otherwise.
// Rules mcp/MS4, mcp/MS6.
func TestAgent_AsksOverPipes(t *testing.T) {
	for _, version := range []string{"2025-11-25", ""} {
		pay := adktest.NewTool("pay", adktest.Says("paid"))
		s := desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("done").SeeingLast("tool pay#call_1: paid"))
		client, server := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.MCP().Run(ctx, &mcp.IOTransport{Reader: server, Writer: server}) }()
		asked := 0
		c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			}})
		session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: client, Writer: client},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		require.Equal(t, "done", text(t, call(t, session, request)), version)
		require.Equal(t, 1, asked)
		_ = session.Close()
		cancel()
		<-ended
	}
}
