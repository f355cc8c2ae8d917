package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
)

func TestAPIError_FromTheServer(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.Header().Set("X-Request-Id", "req-9")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"too fast","type":"requests","code":"rate_limit_exceeded"}}`)
	})
	want := &APIError{
		Provider: "openai", Kind: kit.ErrRateLimited,
		Raw:        `{"error":{"message":"too fast","type":"requests","code":"rate_limit_exceeded"}}`,
		StatusCode: 429, Message: "too fast", Type: "requests", Code: "rate_limit_exceeded",
		RetryAfter: 30 * time.Second, RequestID: "req-9",
	}
	for name, call := range calls(m) {
		err := call(t.Context())
		var got *APIError
		require.ErrorAs(t, err, &got, name)
		require.Equal(t, want, got)
		require.EqualError(t, err,
			"openai: status 429: too fast (type requests, code rate_limit_exceeded, request id req-9, retry after 30s)")
	}
}

// calls returns the ways to call a model.
func calls(m *ChatModel) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"generate": func(ctx context.Context) error {
			_, err := m.Generate(ctx, question)
			return err
		},
		"stream": func(ctx context.Context) error {
			sr, err := m.Stream(ctx, question)
			if err != nil {
				return err
			}
			for _, err := range sr.All() {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func TestAPIError_WithoutJSON(t *testing.T) {
	for body, message := range map[string]string{
		"":                              "openai: status 502: Bad Gateway",
		"<html>\n  bad\tgateway</html>": "openai: status 502: <html> bad gateway</html>",
		strings.Repeat("ä", 5000):       "openai: status 502: " + strings.Repeat("ä", 500) + "…",
	} {
		m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, body)
		})
		for name, call := range calls(m) {
			require.EqualError(t, call(t.Context()), message, name)
		}
	}
}

func TestAPIError_BodyWithoutEnd(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusMultipleChoices} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		})
		_, err := m.Generate(t.Context(), question)
		var got *APIError
		require.ErrorAs(t, err, &got)
		require.Equal(t, status, got.StatusCode)
	}
}

// TestSecrets_NeverInErrors leaks the key from every place that knows it: servers, transports and token sources.
func TestSecrets_NeverInErrors(t *testing.T) {
	const queryKey = "query-secret/42"
	configured := func(c *Config) {
		c.QueryParams = map[string]string{"subscription-key": queryKey}
		c.Headers = map[string]string{"X-Auth": "Basic header-secret-7"}
	}
	leak := strings.Join([]string{testKey, url.QueryEscape(testKey), queryKey, "Basic header-secret-7", "header-secret-7"},
		" ")
	status := func(body string) roundTrip {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := whole(body)(req)
			resp.StatusCode = http.StatusUnauthorized
			return resp, err
		}
	}
	quoted := fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%q,"param":%q}}`, leak, leak, leak, leak)
	long := strings.Repeat("x", 1000-len(testKey)/2) + testKey
	for name, transport := range map[string]roundTrip{
		"error response":         status(quoted),
		"error response in text": status(leak),
		"long error response":    status(long),
		"transport": func(*http.Request) (*http.Response, error) {
			return nil, errors.New("cannot send " + leak)
		},
		"panic":              func(*http.Request) (*http.Response, error) { panic("cannot send " + leak) },
		"malformed":          answering("", strings.NewReader("data: {"+leak+"\n\n")),
		"malformed and long": answering("", strings.NewReader("data: {"+long+"\n\n")),
		"error event":        streaming("data: " + quoted + "\n\n"),
		"read": answering("text/event-stream", io.MultiReader(strings.NewReader(chunk("a")),
			&failing{errors.New("broken: " + leak)})),
	} {
		for kind, call := range calls(newModel(t, transport, configured)) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				requireNoSecret(t, call(t.Context()))
			})
		}
	}
	t.Run("token", func(t *testing.T) {
		m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
			return status(`{"error":"bad ` + req.Header.Get("Authorization") + `"}`)(req)
		}), func(c *Config) {
			c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { return testKey, nil }
		})
		_, err := m.Generate(t.Context(), question)
		requireNoSecret(t, err)
		require.ErrorContains(t, err, "Bearer [redacted]")
	})
	t.Run("extra header", func(t *testing.T) {
		_, err := newModel(t, status(leak)).Generate(t.Context(), question,
			WithExtraHeaders(map[string]string{"Proxy-Authorization": "Basic header-secret-7"}))
		require.NotContains(t, err.Error(), "header-secret-7")
	})
	t.Run("password in the address", func(t *testing.T) {
		m := newModel(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("no route to https://user:header-secret-7@host")
		}),
			func(c *Config) { c.BaseURL = "https://user:header-secret-7@host/v1" })
		_, err := m.Generate(t.Context(), question)
		requireNoSecret(t, err)
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func requireNoSecret(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			requireClean(t, fmt.Sprintf(format, e))
		}
	}
}

func requireClean(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{testKey, url.QueryEscape(testKey), testKey[:len(testKey)/2], "query-secret",
		"header-secret"} {
		require.NotContains(t, text, secret)
	}
}

func TestSecrets_NeverPrinted(t *testing.T) {
	conf := Config{
		APIKey: testKey, Model: "gpt-x",
		Headers: map[string]string{"X-Auth": "header-secret"}, QueryParams: map[string]string{"key": "query-secret"},
	}
	m, err := NewChatModel(t.Context(), &conf)
	require.NoError(t, err)
	var logged strings.Builder
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	for _, v := range []any{conf, &conf, m, *m, []any{m, conf}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			text := fmt.Sprintf(format, v)
			requireClean(t, text)
			require.Contains(t, text, "gpt-x")
		}
		log.Info("it", "v", v)
	}
	requireClean(t, logged.String())
}

func TestErrors_EventsInTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		event, message string
		status         int
	}{
		"error event":          {"event: error\ndata: {\"error\":{\"message\":\"down\",\"code\":503}}\n\n", "down", 503},
		"error with an answer": {`data: {"id":"x","error":{"code":"server_error","message":"down"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n", "down", 500},
		"error of the choice":  {`data: {"choices":[{"error":{"code":502,"message":"down"}}]}` + "\n\n", "down", 502},
		"finish reason": {`data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n",
			"the server ended the answer with an error", 0},
		"text":                  {`data: {"error":"down"}` + "\n\n", "down", 0},
		"object":                {`data: {"object":"error","message":"down","code":400}` + "\n\n", "down", 400},
		"Groq":                  {`data: {"choices":[],"x_groq":{"id":"1","error":"down"}}` + "\n\n", "down", 0},
		"error in the name":     {`error: {"code":500,"message":"down"}` + "\n\n", "down", 500},
		"object without prefix": {`{"error":{"message":"down"}}` + "\n", "down", 0},
		"fields of the error":   {"event: error\ndata: {\"code\":500,\"message\":\"down\"}\n\n", "down", 500},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := requireOneError(t, stream(t, newModel(t, streaming(chunk("a")+c.event+chunk("b")+doneChunk))))
			require.Equal(t, "a", text)
			var got *APIError
			require.ErrorAs(t, err, &got)
			require.Equal(t, c.message, got.Message)
			require.Equal(t, c.status, got.StatusCode)
			require.Equal(t, "req-1", got.RequestID)
		})
	}
	_, err := newModel(t, whole(`{"error":{"message":"down","code":503}}`)).Generate(t.Context(), question)
	var got *APIError
	require.ErrorAs(t, err, &got)
	require.Equal(t, 503, got.StatusCode)
}

// TestErrors_InPlaceOfAnAnswer: a document of success that is an error in one of the forms without "error" around it.
func TestErrors_InPlaceOfAnAnswer(t *testing.T) {
	for body, message := range map[string]string{
		`{"code":"InvalidModel","message":"no such model","request_id":"1"}`: "no such model",
		`{"detail":"not authenticated"}`:                                     "not authenticated",
		`{"message":"forbidden"}`:                                            "forbidden",
	} {
		for _, kind := range []string{"generate", "stream"} {
			var got *APIError
			require.ErrorAs(t, calls(newModel(t, whole(body)))[kind](t.Context()), &got, "%s of %s", kind, body)
			require.Equal(t, message, got.Message)
		}
	}
}

// TestErrors_TextsThatAreNone: events of a stream that have neither an answer nor an error.
func TestErrors_TextsThatAreNone(t *testing.T) {
	for _, event := range []string{
		`{"message":"processing"}`, `{"type":"ping"}`, `{"code":0,"message":""}`,
		`{"object":"chat.completion.chunk","code":"x","message":"y"}`, `{"choices":[{"index":1}],"code":"x","message":"y"}`,
		`{"usage":{"total_tokens":1},"code":"x","message":"y"}`,
	} {
		body := chunk("a") + "data: " + event + "\n\n" + stopChunk + doneChunk
		require.Equal(t, "a", joined(t, stream(t, newModel(t, streaming(body)))).Content, event)
	}
}

// TestErrors_StatusWithoutAnAnswer: what is neither an answer nor an error by its status names the status.
func TestErrors_StatusWithoutAnAnswer(t *testing.T) {
	for _, status := range []int{http.StatusMultipleChoices, http.StatusNotModified, http.StatusTemporaryRedirect} {
		m := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		for kind, call := range calls(m) {
			var got *APIError
			require.ErrorAs(t, call(t.Context()), &got, "%s: %d", kind, status)
			require.Equal(t, status, got.StatusCode)
		}
	}
}

func TestErrors_NullErrorIsNone(t *testing.T) {
	body := `data: {"error":null,"choices":[{"index":0,"delta":{"content":"a"},"error":null}],"x_groq":null}` + "\n\n" +
		stopChunk + doneChunk
	require.Equal(t, "a", joined(t, stream(t, newModel(t, streaming(body)))).Content)
}

func TestErrors_Malformed(t *testing.T) {
	for _, event := range []string{"data: {\"choices\":[}\n\n", "data: nonsense\n\n", "data: [1]\n\n", "data: \"x\"\n\n"} {
		text, err := requireOneError(t, stream(t, newModel(t, streaming(chunk("a")+event+chunk("b")+doneChunk))))
		require.Equal(t, "a", text)
		require.ErrorContains(t, err, "openai: decode the response: ", event)
	}
}
