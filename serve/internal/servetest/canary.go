package servetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/serve"
)

// Texts that must not come to certain places.
const (
	// CanaryText is a text of a user: it is not logged.
	CanaryText = "canary-text"
	// canaryError is the text of an error, which no client reads, and canaryToken what a client authenticates with.
	canaryError, canaryToken = "canary-error", "canary-token"
	// secretError is the text of an error with keys in it.
	secretError = "GET https://app:canary-error@db.example.com/x?api_key=canary-error: 401 for Authorization: Bearer canary-error"
)

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// RequireNoLeaks posts bodies, which have CanaryText in them, to a protocol of an agent whose tool and model fail, and
// requires that neither the text of an error nor the token of the client is in an answer, be it a body or a header, and
// neither what the user says nor the token in the log.
func RequireNoLeaks(t *testing.T, handler func(*serve.Server) http.Handler, path string, bodies ...string) {
	t.Helper()
	log := &lockedBuffer{}
	for _, replies := range [][]adktest.Answer{
		{adktest.Fails(errors.New(canaryError)).Repeated()},
		{adktest.Streams("Half").ThenFails(errors.New(canaryError)).Repeated()},
		{adktest.Calls(adktest.Call("look", `{}`)).Repeated()},
		nil,
	} {
		look := adktest.NewTool("look", adktest.Fails(errors.New(canaryError)).Repeated())
		conf := adk.ChatModelAgentConfig{Name: "desk", Description: "helps"}
		if replies == nil { // the model is told of the error, and what it is told is shown to clients that see tools
			replies = []adktest.Answer{adktest.Calls(adktest.Call("look", `{}`)).Repeated()}
			look = adktest.NewTool("look", adktest.Fails(errors.New(secretError)).Repeated())
			told, err := toolerrors.New(t.Context(), nil)
			require.NoError(t, err)
			conf.Handlers, conf.MaxIterations = []adk.ChatModelAgentMiddleware{told}, 2
		}
		conf.Model, conf.ToolsConfig = adktest.NewModel(t, replies...), adktest.Tools(look)
		agent, err := adk.NewChatModelAgent(t.Context(), &conf)
		require.NoError(t, err)
		auth := func(r *http.Request) (serve.Principal, error) {
			if r.Header.Get("Authorization") != "Bearer "+canaryToken {
				return serve.Principal{}, errors.New(canaryError)
			}
			return serve.Principal{ID: "ana"}, nil
		}
		srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}, Auth: auth, DrainTimeout: time.Second,
			Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		require.NoError(t, err)
		web := httptest.NewServer(handler(srv))
		for _, body := range bodies {
			require.Contains(t, body, CanaryText)
			for _, token := range []string{canaryToken, "other"} {
				shown := exchange(t, web, path, token, body)
				require.NotContains(t, shown, canaryError)
				require.NotContains(t, shown, canaryToken)
			}
		}
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		require.NoError(t, srv.Shutdown(ctx))
		stop()
		web.Close()
	}
	require.NotEmpty(t, log.String())
	require.NotContains(t, log.String(), CanaryText)
	require.NotContains(t, log.String(), canaryToken)
}

// exchange posts a body, and returns all of the answer.
func exchange(t *testing.T, web *httptest.Server, path, token, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := web.Client().Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return fmt.Sprint(answer.Status, answer.Header, answer.Trailer, string(data))
}
