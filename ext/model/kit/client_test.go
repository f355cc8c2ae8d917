package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var request = Request{Path: "chat", Body: []byte(`{"a":1}`)}

// status answers with the given statuses, one after the other, and 200 from then on.
func status(header http.Header, codes ...int) (transport roundTrip, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return func(req *http.Request) (*http.Response, error) {
		n := int(asked.Add(1))
		body, err := io.ReadAll(req.Body)
		if err != nil || string(body) != `{"a":1}` {
			return nil, fmt.Errorf("body %q: %w", body, err)
		}
		code := http.StatusOK
		if n <= len(codes) {
			code = codes[n-1]
		}
		resp, err := answering(code, "application/json", strings.NewReader(`{}`))(req)
		for key := range header {
			resp.Header.Set(key, header.Get(key))
		}
		return resp, err
	}, asked
}

// Rule providers/K30.
func TestClient_RetriesWhatPasses(t *testing.T) {
	two := func(c *ClientConfig) { c.MaxRetries = nil }
	for code, want := range map[int]int{
		408: 3, 409: 3, 425: 3, 429: 3, 500: 3, 503: 3, 529: 3, 400: 1, 401: 1, 403: 1, 404: 1, 413: 1, 422: 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, asked := status(nil, code, code, code, code)
			_, err := clientOf(transport, two).Do(t.Context(), request)
			var api *APIError
			require.ErrorAs(t, err, &api, code)
			require.Equal(t, code, api.StatusCode)
			require.EqualValues(t, want, asked.Load(), code)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		transport, asked := status(nil, 503, 503)
		resp, err := clientOf(transport, two).Do(t.Context(), request)
		require.NoError(t, err)
		resp.Close()
		require.EqualValues(t, 3, asked.Load())
	})
	for word, want := range map[string]int{"true": 3, "false": 1} {
		synctest.Test(t, func(t *testing.T) {
			code := map[string]int{"true": 400, "false": 503}[word]
			transport, asked := status(http.Header{"X-Should-Retry": {word}}, code, code, code)
			_, err := clientOf(transport, two).Do(t.Context(), request)
			require.Error(t, err)
			require.EqualValues(t, want, asked.Load())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		_, err := clientOf(roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, errors.New("connection refused")
		}), two).Do(t.Context(), request)
		require.ErrorContains(t, err, "test: request: connection refused")
		require.Equal(t, 3, asked)
	})
}

func TestClient_WaitsAsLongAsTheServerSays(t *testing.T) {
	one := func(c *ClientConfig) { c.MaxRetries = new(1) }
	for value, want := range map[string]time.Duration{"20": 20 * time.Second, "120": 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			transport, _ := status(http.Header{"Retry-After": {value}}, 429)
			resp, err := clientOf(transport, one).Do(t.Context(), request)
			require.NoError(t, err)
			resp.Close()
			require.Equal(t, want, time.Since(start))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		transport, _ := status(http.Header{"Retry-After": {"3600"}}, 429)
		_, err := clientOf(transport, one).Do(t.Context(), request)
		var api *APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, time.Hour, api.RetryAfter)
		require.ErrorIs(t, err, ErrRateLimited)
		require.True(t, IsRetryable(err))
		require.Zero(t, time.Since(start), "nobody waits an hour")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		transport, asked := status(http.Header{"Retry-After": {"20"}}, 429)
		_, err := clientOf(transport, one).Do(ctx, request)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "enough")
		require.EqualValues(t, 1, asked.Load())
	})
}

// Rules providers/K6, providers/K31.
func TestClient_AsksForAFreshTokenOnce(t *testing.T) {
	tokens := 0
	source := func(context.Context) (string, error) {
		tokens++
		return fmt.Sprintf("token-%d", tokens), nil
	}
	var sent []string
	refuse := 1
	c := clientOf(roundTrip(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req.Header.Get("Authorization"))
		code := http.StatusOK
		if len(sent) <= refuse {
			code = http.StatusUnauthorized
		}
		return answering(code, "application/json", strings.NewReader(`{"error":"no `+req.Header.Get("Authorization")+`"}`))(req)
	}), func(c *ClientConfig) { c.Authorize, c.Refreshes = Bearer("", source), true })
	resp, err := c.Do(t.Context(), request)
	require.NoError(t, err)
	resp.Close()
	require.Equal(t, []string{"Bearer token-1", "Bearer token-2"}, sent)

	sent, refuse = nil, 9
	_, err = c.Do(t.Context(), request)
	require.ErrorIs(t, err, ErrAuth)
	require.Len(t, sent, 2)
	require.NotContains(t, err.Error(), "token-4")

	_, err = clientOf(nil, func(c *ClientConfig) {
		c.Authorize = Bearer("", func(context.Context) (string, error) { return "", errors.New("no network") })
	}).Do(t.Context(), request)
	require.EqualError(t, err, "test: request: authorize: get a token: no network")
}

func TestClient_FollowsNoRedirectToAnotherHost(t *testing.T) {
	stolen := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen <- r.Header.Get("Authorization")
	}))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, `{"path":%q,"body":%q}`, r.URL.Path, body)
		}
	}))
	defer server.Close()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	c := clientOf(transport, func(c *ClientConfig) { c.BaseURL, c.MaxRetries = server.URL, nil })
	_, err := c.Do(t.Context(), Request{Path: "away", Body: []byte("{}")})
	require.ErrorContains(t, err, "redirects to another host")
	require.Empty(t, stolen)
	resp, err := c.Do(t.Context(), Request{Path: "here", Body: []byte("{}")})
	require.NoError(t, err)
	data, err := resp.Document()
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"/there","body":"{}"}`, string(data))
	resp.Finish()
}

func TestClient_TimeoutAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(roundTrip(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}), func(c *ClientConfig) { c.Timeout = time.Minute })
		start := time.Now()
		_, err := c.Do(t.Context(), request)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, IsRetryable(err))
		require.Equal(t, time.Minute, time.Since(start))
	})
	_, err := clientOf(roundTrip(func(*http.Request) (*http.Response, error) { panic("no " + testKey) })).
		Do(t.Context(), request)
	require.ErrorContains(t, err, "test: panic: no [redacted]")
	_, err = clientOf(roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })).
		Do(t.Context(), request)
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = clientOf(roundTrip(func(req *http.Request) (*http.Response, error) { return nil, req.Context().Err() })).
		Do(ctx, request)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, IsRetryable(err))
}

func TestClientConfig_Validate(t *testing.T) {
	err := (&ClientConfig{BaseURL: "ftp://x", Timeout: -1, IdleTimeout: new(-time.Second), MaxRetries: new(-1)}).Validate()
	for _, want := range []string{"BaseURL", "Timeout", "IdleTimeout", "MaxRetries"} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, (&ClientConfig{BaseURL: "http://[::1]:8080/v1"}).Validate())
	host, port := clientOf(nil, func(c *ClientConfig) { c.BaseURL = "http://[::1]:8080/v1" }).Endpoint()
	require.Equal(t, "::1", host)
	require.Equal(t, 8080, port)
}

// Rule providers/K5.
func TestRedactor_FindsSecretsInEveryForm(t *testing.T) {
	r := NewRedactor("test", testKey, "none")
	for _, text := range []string{testKey, strings.ToLower(testKey), strings.ToUpper(testKey), "sk-test%2Bsecret%2F0123456789%3D%3D"} {
		require.Equal(t, "a [redacted] none", r.Text("a "+text+" none"))
	}
	err := r.Failure("request", fmt.Errorf("bad %s: %w", testKey, io.ErrUnexpectedEOF))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	for _, format := range []string{"%v", "%+v", "%#v", "%q", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, err), "secret")
		require.NotContains(t, fmt.Sprintf(format, r), "secret")
		require.NotContains(t, fmt.Sprintf(format, clientOf(nil)), "secret")
	}
}

// Rules providers/K28, providers/K29, providers/K34.
func TestKinds(t *testing.T) {
	for body, want := range map[string]Kind{
		`{"error":{"code":"context_length_exceeded","message":"x"}}`:                                                                                             ErrContextLength,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`:                               ErrContextLength,
		`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`: ErrContextLength,
		`{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}`:                                                          ErrContextLength,
		`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`:                                   ErrContextLength,
		`{"error":{"message":"Range of input length should be [1, 98304]","code":"400"}}`:                                                                        ErrContextLength,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                                                                            ErrOverloaded,
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`:                                                                                  ErrRateLimited,
		`{"type":"error","error":{"type":"billing_error","message":"credit"}}`:                                                                                   ErrQuota,
		`{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`:                                                                    ErrQuota,
		`{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]}}`: ErrQuota,
		`{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31s"}]}}`:                                                       ErrRateLimited,
		`{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`:                                                                                                                              ErrContentFilter,
		`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`:                                                                                                                                                         ErrOverloaded,
		`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`:                                                                                                                             ErrAuth,
		`{"error":{"type":"permission_error","message":"no"}}`:            ErrPermission,
		`{"error":{"type":"request_too_large","message":"no"}}`:           ErrTooLarge,
		`{"error":{"code":499,"status":"CANCELLED","message":"x"}}`:       ErrCanceled,
		`{"error":{"message":"huh"}}`:                                     ErrUnknown,
		`{"error":{"type":"invalid_request_error","message":"bad tool"}}`: ErrInvalid,
	} {
		e := ParseError([]byte(body))
		require.NotNil(t, e, body)
		e.finish(NewRedactor("test"))
		require.Equal(t, want, e.Kind, body)
		require.ErrorIs(t, fmt.Errorf("wrapped: %w", e), want)
	}
	e := ParseError([]byte(`{"error":{"code":429,"message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31.5s"}]}}`))
	require.Equal(t, 31500*time.Millisecond, e.RetryAfter)
}
