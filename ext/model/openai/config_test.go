package openai

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

func TestNewChatModel_BadConfig(t *testing.T) {
	_, err := NewChatModel(t.Context(), nil)
	require.EqualError(t, err, "openai: config is nil")

	for want, change := range map[string]func(*Config){
		"Model is required":           func(c *Config) { c.Model = "" },
		"APIKey is required":          func(c *Config) { c.APIKey = "" },
		"APIKey contains white space": func(c *Config) { c.APIKey = "key\n" },
		"APIKey and TokenSource are both set": func(c *Config) {
			c.TokenSource = func(context.Context) (string, error) { return "", nil }
		},
		"BaseURL must be a URL":              func(c *Config) { c.BaseURL = "localhost:11434/v1" },
		"BaseURL must be a URL with http":    func(c *Config) { c.BaseURL = "ftp://host" },
		"BaseURL must have no query":         func(c *Config) { c.BaseURL = "http://host/v1?key=x" },
		"must not contain /chat/completions": func(c *Config) { c.BaseURL = "http://host/v1/chat/completions/" },
		"BaseURL and Azure are both set":     func(c *Config) { c.BaseURL, c.Azure = "http://host", new(AzureConfig) },
		"Azure.Endpoint must be a URL":       func(c *Config) { c.Azure = &AzureConfig{APIVersion: "v", Deployment: "d"} },
		"Azure.APIVersion is required": func(c *Config) {
			c.Azure = &AzureConfig{Endpoint: "https://a", Deployment: "d"}
		},
		"Azure.Deployment is required": func(c *Config) {
			c.Azure = &AzureConfig{Endpoint: "https://a", APIVersion: "v"}
		},
		"Timeout must not be negative":          func(c *Config) { c.Timeout = -1 },
		"MaxRetries must not be negative":       func(c *Config) { c.MaxRetries = new(-1) },
		"MaxTokens must be positive":            func(c *Config) { c.MaxTokens = new(0) },
		"TopLogProbs needs LogProbs":            func(c *Config) { c.TopLogProbs = 1 },
		"TopLogProbs must not be negative":      func(c *Config) { c.LogProbs, c.TopLogProbs = true, -1 },
		`MaxTokensField is "tokens"`:            func(c *Config) { c.MaxTokensField = "tokens" },
		`ToolResultMedia is "x"`:                func(c *Config) { c.ToolResultMedia = "x" },
		`ReasoningReplay is "x"`:                func(c *Config) { c.ReasoningReplay = "x" },
		`ResponseFormat.Type is "xml"`:          func(c *Config) { c.ResponseFormat = &ResponseFormat{Type: "xml"} },
		"needs a JSONSchema with a Schema":      func(c *Config) { c.ResponseFormat = JSONSchema("a", nil) },
		`the name of the response schema is ""`: func(c *Config) { c.ResponseFormat = JSONSchema("", &jsonschema.Schema{}) },
		"ExtraFields cannot be sent as JSON":    func(c *Config) { c.ExtraFields = map[string]any{"a": math.NaN()} },
	} {
		conf := &Config{APIKey: testKey, Model: "m"}
		change(conf)
		_, err := NewChatModel(t.Context(), conf)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "openai: config: ")
	}
}

func TestNewChatModel_SaysEverythingAtOnceAndNoPassword(t *testing.T) {
	_, err := NewChatModel(t.Context(), &Config{BaseURL: "http://user:header-secret@host:port", Timeout: -1})
	require.ErrorContains(t, err, "BaseURL")
	require.ErrorContains(t, err, "Model")
	require.ErrorContains(t, err, "Timeout")
	requireNoSecret(t, err)
}

func TestNewChatModel_KeyIsOptionalElsewhere(t *testing.T) {
	for _, conf := range []*Config{
		{Model: "m", BaseURL: "http://localhost:11434/v1"},
		{Model: "m", TokenSource: func(context.Context) (string, error) { return "", nil }},
		{Model: "m", Headers: map[string]string{"authorization": "Custom x"}},
	} {
		_, err := NewChatModel(t.Context(), conf)
		require.NoError(t, err)
	}
}

func TestTarget(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "https://elsewhere.test")
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	azure := &AzureConfig{Endpoint: "https://a.openai.azure.com/", APIVersion: "2024-10-21", Deployment: "my gpt"}
	token := func(context.Context) (string, error) { return "fresh", nil }
	for name, c := range map[string]struct {
		change  func(*Config)
		url     string
		headers map[string]string
	}{
		"default": {
			func(c *Config) { c.BaseURL = "" }, "https://api.openai.com/v1/chat/completions",
			map[string]string{"Authorization": "Bearer " + testKey, "Openai-Organization": "",
				"Content-Type": "application/json"},
		},
		"server": {
			func(c *Config) { c.BaseURL, c.APIKey = "http://localhost:8080/v1/", "" },
			"http://localhost:8080/v1/chat/completions",
			map[string]string{"Authorization": ""},
		},
		"Azure": {
			func(c *Config) { c.BaseURL, c.Azure = "", azure },
			"https://a.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
			map[string]string{"Api-Key": testKey, "Authorization": ""},
		},
		"Azure with Entra ID": {
			func(c *Config) { c.BaseURL, c.Azure, c.APIKey, c.TokenSource = "", azure, "", token },
			"https://a.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
			map[string]string{"Api-Key": "", "Authorization": "Bearer fresh"},
		},
		"everything": {
			func(c *Config) {
				c.Organization, c.Project = "org", "proj"
				c.Headers = map[string]string{"X-Title": "test"}
				c.QueryParams = map[string]string{"q": "1 2"}
			},
			"https://server.test/v1/chat/completions?q=1+2",
			map[string]string{"Openai-Organization": "org", "Openai-Project": "proj", "X-Title": "test"},
		},
		"own authentication": {
			func(c *Config) { c.Headers = map[string]string{"Authorization": "Custom x"} },
			"https://server.test/v1/chat/completions",
			map[string]string{"Authorization": "Custom x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, _ := capture(t, c.change, question)
			require.Equal(t, http.MethodPost, req.Method)
			require.Equal(t, c.url, req.URL.String())
			for key, value := range c.headers {
				require.Equal(t, value, req.Header.Get(key), key)
			}
		})
	}
}

func TestTarget_ExtraHeaders(t *testing.T) {
	req, _ := capture(t, func(c *Config) { c.Headers = map[string]string{"A": "1", "B": "1"} }, question,
		WithExtraHeaders(map[string]string{"B": "2", "C": "2"}), WithExtraHeaders(map[string]string{"C": "3"}))
	require.Equal(t, []string{"1", "2", "3"}, []string{req.Header.Get("A"), req.Header.Get("B"), req.Header.Get("C")})
}

// TestTokenSource_GivesWayToHeaders: who sets the header for a call, such as for another tenant, gets it.
func TestTokenSource_GivesWayToHeaders(t *testing.T) {
	withToken := func(c *Config) {
		c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { return "token", nil }
	}
	both := func(c *Config) { withToken(c); c.Headers = map[string]string{"authorization": "Bearer config"} }
	ofCall := WithExtraHeaders(map[string]string{"Authorization": "Bearer call"})
	for _, c := range []struct {
		change func(*Config)
		opts   []model.Option
		want   string
	}{
		{withToken, nil, "Bearer token"},
		{both, nil, "Bearer config"},
		{withToken, []model.Option{ofCall}, "Bearer call"},
		{both, []model.Option{ofCall}, "Bearer call"},
	} {
		req, _ := capture(t, c.change, question, c.opts...)
		require.Equal(t, []string{c.want}, req.Header.Values("Authorization"))
	}
}

func TestTokenSource_IsAskedForEveryAttempt(t *testing.T) {
	asked := 0
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, _ := whole(`{}`)(req)
		resp.StatusCode = http.StatusServiceUnavailable
		resp.Header.Set("Retry-After-Ms", "1")
		return resp, nil
	}), func(c *Config) {
		c.APIKey, c.MaxRetries = "", new(2)
		c.TokenSource = func(context.Context) (string, error) {
			asked++
			return "fresh", nil
		}
	})
	_, err := m.Generate(t.Context(), question)
	require.Error(t, err)
	require.Equal(t, 3, asked)

	refused := newModel(t, streaming(""), func(c *Config) {
		c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { return "", io.ErrNoProgress }
	})
	_, err = refused.Generate(t.Context(), question)
	require.True(t, errors.Is(err, io.ErrNoProgress))
	require.ErrorContains(t, err, "get a token")
}

func TestMaxTokensField_Default(t *testing.T) {
	azure := &AzureConfig{Endpoint: "https://a.openai.azure.com", APIVersion: "v", Deployment: "d"}
	for want, change := range map[string]func(*Config){
		"max_completion_tokens": func(c *Config) { c.BaseURL = "" },
		"max_tokens":            unchanged,
	} {
		_, body := capture(t, func(c *Config) { change(c); c.MaxTokens = new(7) }, question)
		require.EqualValues(t, 7, body[want])
	}
	_, body := capture(t, func(c *Config) { c.BaseURL, c.Azure, c.Model, c.MaxTokens = "", azure, "", new(7) }, question)
	require.EqualValues(t, 7, body["max_completion_tokens"])
	require.Equal(t, "d", body["model"])
	for _, base := range []string{"https://eu.api.openai.com/v1", "https://r.openai.azure.com/openai/v1"} {
		_, body = capture(t, func(c *Config) { c.BaseURL, c.MaxTokens = base, new(7) }, question)
		require.EqualValues(t, 7, body["max_completion_tokens"])
	}
	_, body = capture(t, func(c *Config) { c.MaxTokens, c.MaxTokensField = new(7), MaxTokensFieldMaxCompletionTokens },
		question)
	require.EqualValues(t, 7, body["max_completion_tokens"])
}

func TestChatModel_ConfigMayBeChangedAfterwards(t *testing.T) {
	conf := &Config{Model: "m", BaseURL: "https://server.test/v1",
		HTTPClient: &http.Client{Transport: whole(`{"choices":[{"message":{"content":"ok"}}]}`)}}
	m, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	*conf = Config{}
	got, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
	require.NoError(t, err)
	require.Equal(t, "ok", got.Content)
}
