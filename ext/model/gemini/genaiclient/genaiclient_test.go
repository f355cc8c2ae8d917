package genaiclient_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/gemini/genaiclient"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) {
	// started by a dependency of genai when it is imported
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

type transport func(*http.Request)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) {
	f(req)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`)),
	}, nil
}

type provider struct{}

func (provider) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: "token-of-the-test"}, nil
}

// sent returns the request that a model on a client sends.
func sent(t *testing.T, conf genai.ClientConfig) (got *http.Request) {
	t.Helper()
	conf.HTTPClient = &http.Client{Transport: transport(func(req *http.Request) { got = req })}
	client, err := genai.NewClient(t.Context(), &conf)
	require.NoError(t, err)
	m, err := gemini.NewChatModel(t.Context(), &gemini.Config{Backend: genaiclient.Backend(client), Model: "m"})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello")})
	require.NoError(t, err)
	kittest.NoSecrets(t, "the-key-of-the-test", m, genaiclient.Backend(client))
	return got
}

// Rule providers/G1.
func TestBackend_OfAnAPIKey(t *testing.T) {
	req := sent(t, genai.ClientConfig{APIKey: "the-key-of-the-test", Backend: genai.BackendGeminiAPI})
	require.Equal(t, "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", req.URL.String())
	require.Equal(t, "the-key-of-the-test", req.Header.Get("X-Goog-Api-Key"))
}

func TestBackend_OfAGatewayWithHeaders(t *testing.T) {
	req := sent(t, genai.ClientConfig{APIKey: "the-key-of-the-test", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{
		BaseURL: "https://gateway.example/g", APIVersion: "v1", Headers: http.Header{"X-Team": {"a"}},
	}})
	require.Equal(t, "https://gateway.example/g/v1/models/m:generateContent", req.URL.String())
	require.Equal(t, "a", req.Header.Get("X-Team"))
}

func TestBackend_OfVertex(t *testing.T) {
	req := sent(t, genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: "p", Location: "us-central1",
		Credentials: auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: provider{}}),
	})
	require.Equal(t, "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1/publishers/"+
		"google/models/m:generateContent", req.URL.String())
	require.Equal(t, "Bearer token-of-the-test", req.Header.Get("Authorization"))
	require.Nil(t, genaiclient.Backend(nil))
}
