package vertex

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

var question = []*schema.Message{schema.UserMessage("hi")}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func respond(req *http.Request, status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: req, ContentLength: -1}, nil
}

const okAnswer = `{"type":"message","id":"m","model":"c","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`

// serviceAccount returns the file of a key that is registered nowhere.
func serviceAccount(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "project-1", "client_email": "a@b.test", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri":   "https://oauth2.test/token",
	})
	require.NoError(t, err)
	return data
}

func newModel(t *testing.T, transport http.RoundTripper, conf Config) *anthropic.ChatModel {
	t.Helper()
	backend, err := New(conf)
	require.NoError(t, err)
	m, err := anthropic.NewChatModel(context.Background(), &anthropic.Config{
		Backend: backend, Model: "claude-sonnet-4-5@20250929", MaxTokens: 100, MaxRetries: new(int),
		HTTPClient: &http.Client{Transport: transport}, Betas: []string{"b-1"},
	})
	require.NoError(t, err)
	return m
}

// Holds providers/A38.
func TestRequest_HasTheModelInThePath(t *testing.T) {
	var tokens []string
	oauth := roundTrip(func(req *http.Request) (*http.Response, error) {
		tokens = append(tokens, req.URL.String())
		return respond(req, 200, `{"access_token":"token-1","token_type":"Bearer","expires_in":3600}`)
	})
	var paths []string
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		paths = append(paths, req.URL.String())
		require.Equal(t, "Bearer token-1", req.Header.Get("Authorization"))
		require.Empty(t, req.Header.Get("Anthropic-Version"))
		require.Equal(t, "b-1", req.Header.Get("Anthropic-Beta"))
		require.Contains(t, string(body), `"anthropic_version":"vertex-2023-10-16"`)
		if strings.Contains(req.URL.Path, "count-tokens") {
			require.Contains(t, string(body), `"model":"claude-sonnet-4-5@20250929"`)
			return respond(req, 200, `{"input_tokens":5}`)
		}
		require.NotContains(t, string(body), `"model"`)
		require.Empty(t, kittest.Anthropic().Validate(req, body))
		return respond(req, 200, okAnswer)
	}), Config{Region: "global", CredentialsJSON: serviceAccount(t), HTTPClient: &http.Client{Transport: oauth}})
	got, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "gcp.vertex_ai", got.ResponseMeta.Provider)
	require.Equal(t, "anthropic/aiplatform.googleapis.com/gcp.vertex_ai", got.Extra["origin"])
	n, err := m.CountTokens(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.Equal(t, []string{"https://oauth2.test/token"}, tokens)
	place := "https://aiplatform.googleapis.com/v1/projects/project-1/locations/global/publishers/anthropic/models/"
	require.Equal(t, []string{place + "claude-sonnet-4-5@20250929:rawPredict", place + "count-tokens:rawPredict"}, paths)
}

// Holds providers/A38.
func TestRegions(t *testing.T) {
	for region, want := range map[string]string{
		"global": "https://aiplatform.googleapis.com", "us-east5": "https://us-east5-aiplatform.googleapis.com",
		"us": "https://aiplatform.us.rep.googleapis.com", "eu": "https://aiplatform.eu.rep.googleapis.com",
	} {
		b, err := New(Config{ProjectID: "p", Region: region, TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"})})
		require.NoError(t, err)
		require.Equal(t, want, b.BaseURL())
	}
	b, err := New(Config{Region: "r", BaseURL: "https://private.test", Credentials: &google.Credentials{
		ProjectID: "p2", TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"}),
	}})
	require.NoError(t, err)
	require.Equal(t, "https://private.test", b.BaseURL())
	require.Equal(t, "p2", b.conf.ProjectID)
}

// Holds providers/K1, providers/K2 and providers/K5.
func TestConfig_AllFaultsInOneError(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/poison")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "poison")
	t.Setenv("CLOUD_ML_REGION", "poison")
	static := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"})
	const broken = `{"type":"service_account","private_key":"secret-of-somebody"}`
	for want, conf := range map[string]Config{
		"Region is required":              {ProjectID: "p", TokenSource: static},
		"credentials are required":        {ProjectID: "p", Region: "r"},
		"set only one of CredentialsJSON": {ProjectID: "p", Region: "r", TokenSource: static, CredentialsJSON: []byte("{}")},
		"ProjectID is required":           {Region: "r", TokenSource: static},
		"is no JSON":                      {Region: "r", CredentialsJSON: []byte("/path/to/key.json")},
		`of type "external_account"`:      {Region: "r", CredentialsJSON: []byte(`{"type":"external_account"}`)},
		"BaseURL must be":                 {ProjectID: "p", Region: "r", TokenSource: static, BaseURL: "x"},
	} {
		_, err := New(conf)
		require.ErrorContains(t, err, "vertex: config: ")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "poison")
	}
	backend, err := New(Config{ProjectID: "p", Region: "r", CredentialsJSON: []byte(broken)})
	if err == nil { // the key is read when it is needed
		_, err = backend.Authorize((&http.Request{Header: http.Header{}}).WithContext(t.Context()))
	}
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret-of-somebody")
}

// Holds providers/K5.
func TestSecrets(t *testing.T) {
	const token = "ya29.secret-token-of-the-test"
	conf := Config{ProjectID: "p", Region: "r", TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})}
	backend, err := New(conf)
	require.NoError(t, err)
	withJSON := Config{ProjectID: "p", Region: "r", CredentialsJSON: []byte(token)}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	for _, v := range []any{conf, &conf, withJSON, backend, *backend} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.NotContains(t, fmt.Sprintf(format, v), token[:12])
		}
		log.Info("it", "v", v)
	}
	require.NotContains(t, logged.String(), token[:12])
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		return respond(req, 401, `[{"error":{"code":401,"message":"bad `+token+`","status":"UNAUTHENTICATED"}}]`)
	}), conf)
	_, err = m.Generate(t.Context(), question)
	require.ErrorContains(t, err, "401")
	require.NotContains(t, err.Error(), token)
	conf.TokenSource = failing{}
	_, err = newModel(t, nil, conf).Generate(t.Context(), question)
	require.ErrorContains(t, err, "get a token: no token")
}

type failing struct{}

func (failing) Token() (*oauth2.Token, error) { return nil, errors.New("no token") }
