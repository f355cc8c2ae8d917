package mcptool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Only what the server cannot have run is refused: not what it took, whatever came of the connection later.
// Rule mcp/MC5.
func TestPassage_WhatTheServerTookIsNotRefused(t *testing.T) {
	for name, c := range map[string]struct {
		sent     bool
		statuses []int
		err      error
		want     bool
	}{
		"not sent":               {false, nil, errors.New("x"), true},
		"no answer":              {true, nil, errors.New("x"), false},
		"no listener":            {true, nil, syscall.ECONNREFUSED, true},
		"no session":             {true, []int{404}, errors.New("x"), true},
		"authorized later":       {true, []int{401, 200}, errors.New("x"), false},
		"stream cut, then 404":   {true, []int{200, 404}, errors.New("x"), false},
		"stream cut, then gone":  {true, []int{200}, syscall.ECONNREFUSED, false},
		"moved, then refused":    {true, []int{307, 404}, errors.New("x"), true},
		"failed while it worked": {true, []int{502}, errors.New("x"), false},
	} {
		p := new(passage)
		for _, status := range c.statuses {
			p.leaves()
			p.answered(status)
		}
		if c.sent && len(c.statuses) == 0 {
			p.leaves()
		}
		require.Equal(t, c.want, p.refused(c.err), name)
	}
}

// consent has every token accepted.
type consent struct{}

func (consent) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"}), nil
}

func (consent) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	return r.Body.Close()
}

// A call that was refused until it was authorized, then ran, and whose answer was lost, is not repeated: the refusal
// was of an attempt before. Rule mcp/MC5.
func TestCall_AuthorizedThenCutIsNotRepeated(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true})
	var posts, runs atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case !bytes.Contains(body, []byte(`"tools/call"`)):
			handler.ServeHTTP(w, r)
		case posts.Add(1) == 1:
			w.WriteHeader(http.StatusUnauthorized)
		case runs.Add(1) == 1: // it ran, and the connection is cut before the answer
			panic(http.ErrAbortHandler)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer web.Close()
	srv, err := New(Config{Name: "s", URL: web.URL, OAuth: consent{}})
	require.NoError(t, err)
	defer func() { _ = srv.Close() }()
	tools, err := srv.Tools(t.Context())
	require.NoError(t, err)
	_, err = tools[0].(tool.EnhancedInvokableTool).InvokableRun(t.Context(), &schema.ToolArgument{Text: "{}"})
	var failed *CallError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, OutcomeUnknown, failed.Kind)
	require.EqualValues(t, 1, runs.Load())
}
