package vertex_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/gemini/vertex"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type transport func(*http.Request) string

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(f(req))),
	}, nil
}

const answer = `{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`

func generate(t *testing.T, backend gemini.Backend, client *http.Client) {
	m, err := gemini.NewChatModel(t.Context(), &gemini.Config{Backend: backend, Model: "gemini-2.5-flash", HTTPClient: client})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello")})
	require.NoError(t, err)
}

// Rules providers/G1, providers/K2, providers/K7.
func TestVertex_SendsATokenToTheProject(t *testing.T) {
	kittest.PoisonEnv(t)
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token-of-the-test"})
	for _, conf := range []vertex.Config{
		{Project: "p", Location: "europe-west4", TokenSource: source},
		{Location: "europe-west4", Credentials: &google.Credentials{ProjectID: "p", TokenSource: source}},
	} {
		backend, err := vertex.New(conf)
		require.NoError(t, err)
		asked := 0
		generate(t, backend, &http.Client{Transport: transport(func(req *http.Request) string {
			asked++
			require.Equal(t, "Bearer token-of-the-test", req.Header.Get("Authorization"))
			require.Equal(t, "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4/"+
				"publishers/google/models/gemini-2.5-flash:generateContent", req.URL.String())
			return answer
		})})
		require.Equal(t, 1, asked)
	}
}

func TestVertex_CredentialsOfAUser(t *testing.T) {
	const secret = "refresh-token-of-the-test"
	data, err := json.Marshal(map[string]string{
		"type": "authorized_user", "client_id": "id", "client_secret": "a-client-secret", "refresh_token": secret,
	})
	require.NoError(t, err)
	var fetched int
	conf := vertex.Config{Project: "p", Location: "global", CredentialsJSON: data, HTTPClient: &http.Client{Transport: transport(
		func(req *http.Request) string {
			fetched++
			body, _ := io.ReadAll(req.Body)
			require.Contains(t, string(body), secret)
			return `{"access_token":"fetched","token_type":"Bearer","expires_in":3600}`
		})}}
	backend, err := vertex.New(conf)
	require.NoError(t, err)
	for range 2 {
		generate(t, backend, &http.Client{Transport: transport(func(req *http.Request) string {
			require.Equal(t, "Bearer fetched", req.Header.Get("Authorization"))
			return answer
		})})
	}
	require.Equal(t, 1, fetched, "tokens are used again")
	kittest.NoSecrets(t, secret, conf, backend)
}

// Rules providers/K1, providers/K5.
func TestVertex_Faults(t *testing.T) {
	_, err := vertex.New(vertex.Config{})
	require.ErrorContains(t, err, "Location is required")
	require.ErrorContains(t, err, "set one of CredentialsJSON")
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"})
	_, err = vertex.New(vertex.Config{Location: "l", TokenSource: source})
	require.ErrorContains(t, err, "Project is required")
	for text, want := range map[string]string{
		"secret-that-is-no-json": "is no JSON", `{"type":"external_account","x":"secret"}`: `type "external_account"`,
		`{"type":"service_account","private_key":"secret"}`: "Project is required",
	} {
		_, err = vertex.New(vertex.Config{Location: "l", CredentialsJSON: []byte(text)})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}
