package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Holds providers/K1.
func TestConfig_AllFaultsInOneError(t *testing.T) {
	_, err := NewChatModel(t.Context(), &Config{
		BaseURL: "ftp://user:password@x", MaxTokens: -1, Timeout: -1, IdleTimeout: new(-time.Second), MaxRetries: new(-1), MaxPauses: new(-1),
		AutoCache: "x", CacheTTL: "2h", SystemInline: "x", OnMissingThinking: "x", StopSequences: []string{" "},
		Thinking: &Thinking{Type: "x"}, ResponseFormat: &ResponseFormat{}, ForeignThinking: "x", APIKey: "a", AuthToken: "b",
		ServerTools: []ServerTool{ToolSearch("x")},
	})
	for _, part := range []string{
		"anthropic: config: ", "BaseURL must", "MaxTokens must", "Timeout must", "IdleTimeout must", "MaxRetries must", "MaxPauses must",
		"AutoCache must", "CacheTTL must", "SystemInline must", "OnMissingThinking must", "StopSequences must", "Thinking.Type",
		"ResponseFormat needs", "ForeignThinking must", "only one of APIKey", "ServerTools[0]", "Model is required",
	} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "password")
	_, err = NewAgenticModel(t.Context(), nil)
	require.EqualError(t, err, "anthropic: the config is nil")
	_, err = NewAgenticModel(t.Context(), &Config{Model: "m"})
	require.EqualError(t, err, "anthropic: config: APIKey is required: set it, or AuthToken, or TokenSource")
	_, err = NewAgenticModel(t.Context(), &Config{Model: "m", APIKey: "x", Backend: &direct{}})
	require.ErrorContains(t, err, "not for a Backend")
	for _, fine := range []*Config{
		{Model: "m", BaseURL: "http://localhost:8080"}, {Model: "m", Headers: map[string]string{"X-Api-Key": "secret"}},
		{Model: "m", Backend: &direct{key: "k"}},
	} {
		_, err = NewAgenticModel(t.Context(), fine)
		require.NoError(t, err)
	}
}

// Holds providers/K2.
func TestConfig_TheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE",
		"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "CLOUD_ML_REGION",
		"GOOGLE_APPLICATION_CREDENTIALS", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT",
	} {
		t.Setenv(name, "https://wrong.test/poison")
	}
	r := new(recorder)
	_, err := newChat(t, r).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "api.anthropic.com", r.requests[0].URL.Host)
	require.Equal(t, testKey, r.requests[0].Header.Get("X-Api-Key"))
	require.NotContains(t, string(r.bodies[0])+fmt.Sprint(r.requests[0].Header), "poison")
	_, err = NewChatModel(t.Context(), &Config{Model: "m"})
	require.ErrorContains(t, err, "APIKey is required")
	require.NotEmpty(t, os.Getenv("ANTHROPIC_API_KEY"))
}

// Holds providers/K3 and providers/K4.
func TestConfig_IsCopied(t *testing.T) {
	r := new(recorder)
	conf := testConfig(r)
	m, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	conf.APIKey, conf.Model, conf.BaseURL = "changed", "changed", "https://changed.test"
	_, err = m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, testKey, r.requests[0].Header.Get("X-Api-Key"))
	require.Equal(t, "claude-sonnet-4-20250514", r.body(t, 0)["model"])
	var none *http.Client
	_, err = NewChatModel(t.Context(), &Config{APIKey: "k", Model: "m", HTTPClient: none})
	require.NoError(t, err)
}

// leaky returns transports that leak the key, one for every way in which a server or a transport can.
func leaky() map[string]http.RoundTripper {
	leak := testKey + " " + url.QueryEscape(testKey)
	quoted := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, leak, leak)
	status := func(body string) roundTrip {
		return func(req *http.Request) (*http.Response, error) {
			return response(req, 401, "application/json", strings.NewReader(body)), nil
		}
	}
	return map[string]http.RoundTripper{
		"error": status(quoted), "text": status(leak), "event": streaming(sse(quoted)), "malformed": streaming("data: {" + leak + "\n\n"),
		"document": whole("{" + leak), "page": answering("text/html", strings.NewReader(leak)),
		"transport": roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("cannot send " + leak) }),
		"panic":     roundTrip(func(*http.Request) (*http.Response, error) { panic("cannot send " + leak) }),
		"read":      answering("text/event-stream", io.MultiReader(strings.NewReader(sse(startEvent)), failing{errors.New(leak)})),
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Holds providers/K5 and providers/K27.
func TestSecrets_AreInNoError(t *testing.T) {
	for name, transport := range leaky() {
		for _, change := range []func(*Config){unchanged, func(c *Config) { c.APIKey, c.AuthToken = "", testKey }, func(c *Config) {
			c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { return testKey, nil }
		}} {
			m := newChat(t, transport, change)
			_, err := m.Generate(t.Context(), question)
			if name != "event" && name != "read" {
				requireNoSecret(t, err)
			}
			sr, err := m.Stream(t.Context(), question)
			if err == nil {
				for _, err = range sr.All() {
				}
			}
			if err != nil {
				requireNoSecret(t, err)
			}
		}
	}
	m := newChat(t, whole(okAnswer), func(c *Config) {
		c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { panic(testKey) }
	})
	_, err := m.Generate(t.Context(), question)
	require.Error(t, err)
}

func requireNoSecret(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(format, e)
			require.NotContains(t, text, testKey)
			require.NotContains(t, text, testKey[:len(testKey)/2])
		}
	}
}

// Holds providers/K5.
func TestSecrets_AreNotPrinted(t *testing.T) {
	conf := testConfig(nil, func(c *Config) { c.Headers = map[string]string{"X-Auth": testKey} })
	chat, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	agentic, err := NewAgenticModel(t.Context(), conf)
	require.NoError(t, err)
	var logged strings.Builder
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	for _, v := range []any{conf, *conf, chat, *chat, agentic, *agentic, []any{chat, conf}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.NotContains(t, fmt.Sprintf(format, v), testKey[:8])
		}
		log.Info("it", "v", v)
	}
	require.NotContains(t, logged.String(), testKey[:8])
	require.Contains(t, fmt.Sprint(conf), "claude-sonnet-4")
}

// Holds providers/K30, providers/K31 and providers/K6.
func TestRetries(t *testing.T) {
	var keys []string
	n := 0
	transport := roundTrip(func(req *http.Request) (*http.Response, error) {
		keys = append(keys, req.Header.Get("Authorization"))
		switch n++; n {
		case 1:
			return response(req, 401, "application/json", strings.NewReader(`{"type":"error","error":{"type":"authentication_error","message":"old"}}`)), nil
		case 2:
			resp := response(req, 529, "application/json", strings.NewReader(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`))
			resp.Header.Set("Retry-After-Ms", "1")
			return resp, nil
		}
		return whole(okAnswer)(req)
	})
	token := 0
	m := newChat(t, transport, func(c *Config) {
		c.MaxRetries, c.APIKey = new(1), ""
		c.TokenSource = func(context.Context) (string, error) { token++; return fmt.Sprint("token-", token), nil }
	})
	_, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, []string{"Bearer token-1", "Bearer token-2", "Bearer token-3"}, keys)
}

// Holds providers/A39: anybody can add a service.
func TestBackend_OfSomebodyElse(t *testing.T) {
	r := new(recorder)
	conf := testConfig(r, func(c *Config) {
		c.APIKey, c.Backend = "", &house{}
		c.AutoCache, c.ServiceTier = AutoCacheServer, ""
	})
	m, err := NewAgenticModel(t.Context(), conf)
	require.NoError(t, err)
	got, err := m.Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, "https://house.test/claude/claude-sonnet-4-20250514", r.requests[0].URL.String())
	require.Equal(t, "Bearer house", r.requests[0].Header.Get("Authorization"))
	require.Equal(t, "house", got.ResponseMeta.Provider)
	require.Equal(t, "house", m.Provider())
	require.Equal(t, []string{"content question"}, markers(t, r.body(t, 0))) // providers/A20: it cannot do it itself
	_, err = m.Generate(t.Context(), questionBlocks, WithServiceTier("auto"))
	require.ErrorContains(t, err, "service_tier: the service does not take it")
	_, err = m.CountTokens(t.Context(), questionBlocks)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	host, port := m.Endpoint()
	require.Equal(t, "house.test", host)
	require.Zero(t, port)
}

type house struct{}

func (*house) System() string  { return "house" }
func (*house) BaseURL() string { return "https://house.test/" }
func (*house) Omits() []string { return []string{"cache_control", "service_tier", "tools.strict"} }
func (*house) Prepare(r *BackendRequest) error {
	if r.Count {
		return fmt.Errorf("no: %w", errors.ErrUnsupported)
	}
	r.Path = "claude/" + r.Model
	return nil
}
func (*house) Events(body io.Reader) io.Reader { return body }
func (*house) Authorize(req *http.Request) ([]string, error) {
	return kit.Bearer("house", nil)(req)
}

// Holds providers/K8.
func TestWithTools_LeavesTheReceiverAsItIs(t *testing.T) {
	r := new(recorder)
	m := newChat(t, r)
	with, err := m.WithTools([]*schema.ToolInfo{toolA})
	require.NoError(t, err)
	_, err = with.Generate(t.Context(), question)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), question)
	require.NoError(t, err)
	_, err = with.Generate(t.Context(), question, model.WithTools(nil))
	require.NoError(t, err)
	require.Contains(t, r.body(t, 0), "tools")
	require.NotContains(t, r.body(t, 1), "tools")
	require.NotContains(t, r.body(t, 2), "tools")
	n, err := with.(*ChatModel).CountTokens(t.Context(), question)
	require.Error(t, err)
	require.Zero(t, n)
	agentic, err := newAgentic(t, r).WithTools([]*schema.ToolInfo{toolA})
	require.NoError(t, err)
	_, err = agentic.Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[4]), `"name":"a"`)
}
