package mcptool_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

const notes = "notes://1"

// newNotes makes a server with a resource that can be subscribed to. It speaks some versions of the protocol, or all.
func newNotes(versions ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: versions,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil }})
	s.AddResource(&mcp.Resource{URI: notes, Name: "first"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "milk"}}}, nil
		})
	return s
}

// subscribe subscribes in the background. Each call is an item of calls.
func subscribe(t *testing.T, srv *mcptool.Server) (calls chan struct{}, stop func() error) {
	t.Helper()
	calls = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- srv.Subscribe(ctx, notes, func(context.Context) error {
			calls <- struct{}{}
			return nil
		})
	}()
	return calls, func() error {
		cancel()
		return <-ended
	}
}

func comes(t *testing.T, calls chan struct{}) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no call")
	}
}

// A subscription holds over lost connections, in all protocols.
// Rule mcp/MC30.
func TestSubscribe_NoticesChangesOverLostConnections(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			var mu sync.Mutex // guards last
			var last func() error
			s := newNotes(version)
			srv := open(t, mcptool.Config{Transport: func(context.Context) (mcp.Transport, error) {
				here, cut, err := piped(s)
				mu.Lock()
				last = cut
				mu.Unlock()
				return here, err
			}})
			calls, stop := subscribe(t, srv)
			comes(t, calls)
			change := func() {
				t.Helper()
				require.NoError(t, s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: notes}))
			}
			change()
			comes(t, calls)
			mu.Lock()
			cut := last
			mu.Unlock()
			require.NoError(t, cut())
			comes(t, calls)
			change()
			comes(t, calls)
			require.ErrorIs(t, stop(), context.Canceled)
			require.Empty(t, calls)
		})
	}
}

func TestSubscribe_SurvivesARestartOfTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serve := func(l net.Listener) (*mcp.Server, *httptest.Server) {
		s := newNotes()
		web := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: true}))
		_ = web.Listener.Close()
		web.Listener = l
		web.Start()
		return s, web
	}
	_, web := serve(listener)
	srv := open(t, mcptool.Config{URL: web.URL})
	calls, stop := subscribe(t, srv)
	comes(t, calls)
	require.NoError(t, web.Listener.Close()) // takes no more connections
	web.CloseClientConnections()
	web.Close()
	listener, err = net.Listen("tcp", listener.Addr().String())
	require.NoError(t, err)
	s, web := serve(listener)
	defer web.Close()
	defer web.CloseClientConnections()
	comes(t, calls)
	require.NoError(t, s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: notes}))
	comes(t, calls)
	require.ErrorIs(t, stop(), context.Canceled)
}

func TestSubscribe_EndsWithItsReason(t *testing.T) {
	bare := newServer()
	bare.AddResource(&mcp.Resource{URI: notes, Name: "first"}, nil)
	err := open(t, mcptool.Config{Transport: inProcess(bare)}).Subscribe(t.Context(), notes, nil)
	require.ErrorContains(t, failure(t, err, mcptool.Protocol), "reports no changes")

	srv := open(t, mcptool.Config{Transport: inProcess(newNotes())})
	enough := errors.New("enough")
	require.ErrorIs(t, srv.Subscribe(t.Context(), notes, func(context.Context) error { return enough }), enough)
	require.ErrorContains(t, srv.Subscribe(t.Context(), notes, func(context.Context) error { panic("x") }), "panic in the function of Subscribe")
	calls, stop := subscribe(t, srv)
	comes(t, calls)
	require.ErrorContains(t, srv.Subscribe(t.Context(), notes, nil), "already")
	require.NoError(t, srv.Close())
	failure(t, stop(), mcptool.Connect)
}
