package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// Rule providers/K1.
func TestConfig_AllFaultsAtOnce(t *testing.T) {
	n, budget, retries := 0, int32(5), -1
	_, err := gemini.NewChatModel(t.Context(), &gemini.Config{
		BaseURL: "ftp://x", MaxTokens: &n, MaxRetries: &retries, Timeout: -1, SchemaMode: "x", ForeignThinking: "x",
		ThinkingConfig: &gemini.ThinkingConfig{ThinkingBudget: &budget, ThinkingLevel: "LOW"}, SafetySettings: []*gemini.SafetySetting{nil},
		ServerTools: []gemini.ServerTool{gemini.RawServerTool(json.RawMessage(`[]`))}, ResponseJSONSchema: "text", Project: "p",
	})
	for _, want := range []string{"gemini: config: ", "BaseURL", "MaxTokens", "MaxRetries", "Timeout", "SchemaMode", "ForeignThinking",
		"ThinkingBudget and ThinkingLevel", "SafetySettings[0]", "ServerTools[0]", "ResponseJSONSchema", "Model is required",
		"both Project and Location"} {
		require.ErrorContains(t, err, want)
	}
	_, err = gemini.NewAgenticModel(t.Context(), nil)
	require.EqualError(t, err, "gemini: the config is nil")
}

func TestConfig_Credentials(t *testing.T) {
	token := func(context.Context) (string, error) { return "t", nil }
	backend := gemini.NewBackend("k", nil)
	for want, conf := range map[string]gemini.Config{
		"APIKey is required":                     {},
		"only one of APIKey and TokenSource":     {APIKey: "k", TokenSource: token},
		"not for a Backend":                      {APIKey: "k", Backend: backend},
		"a TokenSource or an APIKey is required": {Project: "p", Location: "l"},
		"":                                       {Backend: backend},
		" ":                                      {BaseURL: "http://localhost:1"},
		"  ":                                     {Headers: map[string]string{"Authorization": "Bearer x"}},
		"   ":                                    {Project: "p", Location: "l", TokenSource: token},
	} {
		conf.Model = "m"
		_, err := gemini.NewChatModel(t.Context(), &conf)
		if strings.TrimSpace(want) == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// Holds providers/G1: where requests go.
func TestConfig_Addresses(t *testing.T) {
	token := func(context.Context) (string, error) { return "t", nil }
	for want, conf := range map[string]gemini.Config{
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent":                                                   {APIKey: "k"},
		"https://generativelanguage.googleapis.com/v1beta/tunedModels/x:generateContent":                                              {APIKey: "k", Model: "tunedModels/x"},
		"https://gw.example/g/models/m:generateContent?a=b":                                                                           {APIKey: "k", BaseURL: "https://gw.example/g/", QueryParams: map[string]string{"a": "b"}},
		"https://us-east5-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-east5/publishers/google/models/m:generateContent": {Project: "p", Location: "us-east5", TokenSource: token},
		"https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/m:generateContent":            {Project: "p", Location: "global", TokenSource: token},
		"https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/meta/models/llama:generateContent":       {Project: "p", Location: "eu", TokenSource: token, Model: "meta/llama"},
		"https://aiplatform.googleapis.com/v1beta1/publishers/google/models/m:generateContent":                                        {Backend: gemini.NewVertexBackend("", "", "k", nil)},
		"https://aiplatform.googleapis.com/v1beta1/projects/q/locations/l/endpoints/7:generateContent":                                {Project: "p", Location: "global", TokenSource: token, Model: "projects/q/locations/l/endpoints/7"},
		"https://gw.example/projects/p/locations/l/endpoints/7:generateContent":                                                       {Project: "p", Location: "l", TokenSource: token, BaseURL: "https://gw.example", Model: "endpoints/7"},
		"https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/n:generateContent":            {Project: "p", Location: "global", TokenSource: token, Model: "models/n"},
	} {
		_, s := fake(t, parts(text("a")))
		s.faulty = true
		conf.HTTPClient = &http.Client{Transport: s}
		if conf.Model == "" {
			conf.Model = "m"
		}
		m := generate(t, &conf, hello)
		require.Equal(t, want, s.requests[0].URL.String())
		system := "gcp.gemini"
		if strings.Contains(want, "/publishers/") || strings.Contains(want, "/endpoints/") {
			system = "gcp.vertex_ai"
		}
		require.Equal(t, system, m.ResponseMeta.Provider)
		require.Equal(t, system, agentic(t, &conf).Provider())
	}
}

// Rule providers/K2.
func TestEnvironment_IsNotRead(t *testing.T) {
	send := func() string {
		conf, s := fake(t, parts(text("a")))
		generate(t, conf, hello)
		r := s.requests[0]
		return fmt.Sprint(r.URL, r.Header, string(s.sent[0]))
	}
	want := send()
	kittest.PoisonEnv(t)
	require.Equal(t, want, send())
	_, err := gemini.NewChatModel(t.Context(), &gemini.Config{Model: "m"})
	require.ErrorContains(t, err, "APIKey is required")
}

// Rules providers/K3, providers/K4.
func TestConfig_IsCopied_AndANilClientIsNone(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	m := agentic(t, conf)
	conf.Model, conf.APIKey = "other", "other-key"
	_, err := m.Generate(t.Context(), hello)
	require.NoError(t, err)
	require.Contains(t, s.requests[0].URL.Path, "gemini-2.5-flash")
	require.Equal(t, testKey, s.requests[0].Header.Get("X-Goog-Api-Key"))
	var none *http.Client
	_, err = gemini.NewChatModel(t.Context(), &gemini.Config{APIKey: "k", Model: "m", HTTPClient: none})
	require.NoError(t, err)
}

// Rules providers/K5, providers/G9.
func TestSecrets_AreShownNowhere(t *testing.T) {
	kittest.NoLog(t)
	const secret = "AIza-very-secret-key"
	conf, s := fake(t, `{"error":{"code":400,"message":"API key not valid: `+secret+`","status":"INVALID_ARGUMENT"}}`)
	s.faulty = true
	conf.APIKey = secret
	conf.Headers = map[string]string{"X-Auth": secret}
	kittest.NoSecrets(t, secret, conf, *conf, chat(t, conf), agentic(t, conf))
	errs := []any{refused(t, conf, hello)}
	conf.HTTPClient.Transport = transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("bad " + secret) })
	errs = append(errs, refused(t, conf, hello))
	_, err := chat(t, conf).ModelInfo(t.Context())
	errs = append(errs, err)
	_, err = chat(t, conf).Upload(t.Context(), strings.NewReader("x"), "text/plain")
	errs = append(errs, err)
	conf.HTTPClient.Transport = transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader("<" + secret))}, nil
	})
	errs = append(errs, refused(t, conf, hello))
	conf.BaseURL, conf.MaxRetries = "https://user:"+secret+"@127.0.0.1:1/x?y", nil
	_, err = gemini.NewChatModel(t.Context(), conf)
	require.Error(t, err)
	errs = append(errs, err, conf)
	kittest.NoSecrets(t, secret, errs...)
}

// Rules providers/K6, providers/K31.
func TestTokenSource_IsAskedForEveryAttempt(t *testing.T) {
	var asked atomic.Int32
	var seen []string
	conf := &gemini.Config{
		Project: "p", Location: "l", Model: "m",
		TokenSource: func(context.Context) (string, error) { return fmt.Sprintf("token-%d", asked.Add(1)), nil },
		HTTPClient: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			seen = append(seen, req.Header.Get("Authorization"))
			status, body := 401, `{"error":{"code":401,"message":"expired","status":"UNAUTHENTICATED"}}`
			if len(seen) == 2 {
				status, body = 200, parts(text("a"))
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})},
	}
	generate(t, conf, hello)
	require.Equal(t, []string{"Bearer token-1", "Bearer token-2"}, seen)
	require.ErrorIs(t, refused(t, conf, hello), kit.ErrAuth)
	require.Len(t, seen, 4, "one more attempt, not more")
	conf.TokenSource = func(context.Context) (string, error) { return "", errors.New("no token today") }
	require.ErrorContains(t, refused(t, conf, hello), "get a token: no token today")
}

// Rule providers/K41.
func TestCallbacks_OnceACall_WithServerTools(t *testing.T) {
	conf, _ := fake(t, sse(piece(text("a")), parts(text("b"))))
	conf.EnableGoogleSearch, conf.Model = true, "gemini-3-pro-preview"
	var starts, ends int
	var tools []string
	var usage *model.TokenUsage
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			starts++
			for _, tool := range model.ConvAgenticCallbackInput(in).Tools {
				tools = append(tools, tool.Name)
			}
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			defer out.Close()
			ends++
			require.Equal(t, "Gemini", info.Type)
			for chunk, err := range out.All() {
				require.NoError(t, err)
				if u := model.ConvAgenticCallbackOutput(chunk).TokenUsage; u != nil {
					usage = u
				}
			}
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), nil, handler)
	_, err := ask(ctx, agentic(t, conf), hello, true, functions("f"))
	require.NoError(t, err)
	require.Equal(t, []string{"f", "googleSearch"}, tools)
	require.Equal(t, "1 1 5", fmt.Sprint(starts, ends, usage.TotalTokens))
}

func TestWithTools_LeavesTheReceiverAsItIs(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	m := chat(t, conf)
	with, err := m.WithTools([]*schema.ToolInfo{{Name: "f"}})
	require.NoError(t, err)
	in := []*schema.Message{schema.UserMessage("Hello")}
	_, err = with.Generate(t.Context(), in)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), in)
	require.NoError(t, err)
	require.NotNil(t, s.body(0)["tools"])
	require.Nil(t, s.body(1)["tools"])
	_, err = m.WithTools([]*schema.ToolInfo{nil})
	require.Error(t, err)
	more, err := agentic(t, conf).WithTools([]*schema.ToolInfo{{Name: "f"}})
	require.NoError(t, err)
	_, err = more.CountTokens(t.Context(), hello)
	require.Error(t, err)
}
