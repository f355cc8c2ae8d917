package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

const canary = "sk-canary-0123456789"

// granted is a handler of OAuth with a token, or one that fails.
type granted struct{ fails bool }

func (g granted) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: canary}), nil
}

func (g granted) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	if g.fails {
		return errors.New("no consent")
	}
	return r.Body.Close()
}

// Tokens are in no error, log, event, checkpoint or report, however the server fails, and even if it repeats them.
// Rule mcp/MC33.
func TestSecrets_AreNowhere(t *testing.T) {
	// Each server lets the handshake and the list through, and then does its worst with a call.
	echo := func(r *http.Request) string {
		return "you sent " + r.Header.Get("Authorization") + " " + r.URL.RawQuery
	}
	failures := map[string]func(w http.ResponseWriter, r *http.Request){
		"echoes and refuses": func(w http.ResponseWriter, r *http.Request) { http.Error(w, echo(r), http.StatusUnauthorized) },
		"echoes and fails":   func(w http.ResponseWriter, r *http.Request) { http.Error(w, echo(r), http.StatusInternalServerError) },
		"echoes in the protocol": func(w http.ResponseWriter, r *http.Request) {
			var asked struct{ ID json.RawMessage }
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &asked)
			message, _ := json.Marshal(echo(r))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`, asked.ID, message)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"sends on": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		},
		"says HTML": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<p>"+echo(r)) },
	}
	s := newServer()
	addTool(s, "pay", answers("paid"))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	token := http.Header{"Authorization": {"Bearer " + canary}, "X-Key": {canary}}
	for how, fails := range failures {
		for way, conf := range map[string]mcptool.Config{
			"header":        {Header: func(context.Context) (http.Header, error) { return token, nil }},
			"OAuth":         {OAuth: granted{}},
			"OAuth refused": {OAuth: granted{fails: true}},
		} {
			t.Run(way+" "+how, func(t *testing.T) {
				var down atomic.Bool
				broken := func(r *http.Request) bool { return down.Load() || r.Header.Get("Mcp-Method") == "tools/call" }
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if broken(r) {
						fails(w, r)
						return
					}
					handler.ServeHTTP(w, r)
				}))
				t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
				var seen lockedBuffer
				conf.URL = web.URL + "?api_key=" + url.QueryEscape(canary)
				conf.Logger = slog.New(slog.NewTextHandler(&seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
				srv := open(t, conf)
				store := adktest.NewStore()
				agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "cashier",
					Model:    adktest.NewModel(t, adktest.Calls(adktest.Call("pay", `{}`))),
					Handlers: []adk.ChatModelAgentMiddleware{srv.Middleware()}})
				require.NoError(t, err)
				r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store, Durability: adk.EveryStep})
				report := func(v any) {
					if traced, ok := v.(interface{ TraceAttributes() map[string]any }); ok {
						fmt.Fprintln(&seen, traced.TraceAttributes())
					}
				}
				watch := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
					report(in)
					return ctx
				}).OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
					report(err)
					fmt.Fprintf(&seen, "%v %+v %#v\n", err, err, errors.Unwrap(err))
					return ctx
				}).Build()
				for events := r.Query(t.Context(), "go", adk.WithCallbacks(watch), adk.WithCheckPointID("run")); ; {
					event, ok := events.Next()
					if !ok {
						break
					}
					for err := event.Err; err != nil; err = errors.Unwrap(err) {
						fmt.Fprintln(&seen, err)
					}
					text, _ := json.Marshal(event.Output)
					fmt.Fprintln(&seen, string(text))
				}
				for _, line := range store.Log() {
					_, id, _ := strings.Cut(line, " ")
					saved, _, err := store.Get(t.Context(), id)
					require.NoError(t, err)
					fmt.Fprintln(&seen, string(saved))
				}
				_, err = call(t.Context(), named(t, srv, "pay"), "{}")
				fmt.Fprintln(&seen, err)
				require.NotContains(t, seen.String(), "canary")

				down.Store(true) // not even a connection
				err = open(t, conf).Ready(t.Context())
				require.NotContains(t, fmt.Sprint(err), "canary")
			})
		}
	}
}
