package mcptool_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

type userKey struct{}

// What a server lets be kept is not kept for others: each user reads with a token of their own.
// Rule mcp/MC2.
func TestRead_AnswersEachUserAnew(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 60_000, "private" }})
	s.AddResource(&mcp.Resource{URI: "mail://inbox", Name: "inbox"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: "mail://inbox", Text: "for " + r.Extra.Header.Get("X-User")}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	srv := open(t, mcptool.Config{URL: web.URL, Header: func(ctx context.Context) (http.Header, error) {
		user, _ := ctx.Value(userKey{}).(string)
		return http.Header{"X-User": {user}}, nil
	}})
	for _, user := range []string{"ann", "bob"} {
		contents, err := srv.Read(context.WithValue(t.Context(), userKey{}, user), "mail://inbox")
		require.NoError(t, err)
		require.Equal(t, "for "+user, contents[0].Text)
	}
}

// Each user has the tools that the server shows them, if the configuration says whose a list is.
// Rules mcp/MC2, mcp/MC8.
func TestTools_AreThoseOfTheUser(t *testing.T) {
	var lists atomic.Int32
	servers := map[string]*mcp.Server{"": newServer(), "ann": newServer(), "bob": newServer()}
	for user, s := range servers {
		addTool(s, "of_"+user, answers(user))
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, r)
			}
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return servers[r.Header.Get("X-User")] },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	userOf := func(ctx context.Context) string {
		user, _ := ctx.Value(userKey{}).(string)
		return user
	}
	srv := open(t, mcptool.Config{URL: web.URL, ListOf: userOf, Header: func(ctx context.Context) (http.Header, error) {
		return http.Header{"X-User": {userOf(ctx)}}, nil
	}})
	for range 2 {
		for _, user := range []string{"ann", "bob"} {
			ctx := context.WithValue(t.Context(), userKey{}, user)
			tools, err := srv.Tools(ctx)
			require.NoError(t, err)
			require.Len(t, tools, 1)
			info, err := tools[0].Info(ctx)
			require.NoError(t, err)
			require.Equal(t, "of_"+user, info.Name)
		}
	}
	require.EqualValues(t, 2, lists.Load(), "each list is read once")
}

// Every request says what it is part of, and what the protocol itself has there stays.
// Rule mcp/MC31.
func TestMeta_IsInEveryRequest(t *testing.T) {
	s := newServer()
	addTool(s, "echo", answers("ok"))
	s.AddResource(&mcp.Resource{URI: "a://b", Name: "b"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "x"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	var mu sync.Mutex // guards seen
	seen := map[string]any{}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			mu.Lock()
			seen[method] = r.GetParams().GetMeta()["traceparent"]
			mu.Unlock()
			return next(ctx, method, r)
		}
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s), Meta: func(ctx context.Context) map[string]string {
		return map[string]string{"traceparent": "00-1-2-01", "progressToken": "mine"}
	}})
	_, err := call(t.Context(), named(t, srv, "echo"), "{}")
	require.NoError(t, err)
	_, err = srv.Read(t.Context(), "a://b")
	require.NoError(t, err)
	_, err = srv.Prompt("p").Format(t.Context(), nil)
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	for _, method := range []string{"tools/list", "tools/call", "resources/read", "prompts/list", "prompts/get"} {
		require.Equal(t, "00-1-2-01", seen[method], method)
	}
}
