package gemini

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

const testKey = "the-key-of-the-test"

func embedderAt(t *testing.T, url string, change ...func(*Config)) *Embedder {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{APIKey: testKey, BaseURL: url + "/v1beta", Model: "gemini-embedding-001",
		HTTPClient: &http.Client{Transport: transport}}
	for _, c := range change {
		c(conf)
	}
	e, err := NewEmbedder(t.Context(), conf)
	require.NoError(t, err)
	return e
}

// Rules providers/E1, providers/E4.
func TestEmbed_GeminiAPI(t *testing.T) {
	server := kittest.Server(t, kittest.GeminiEmbeddings(),
		kittest.JSON(`{"embeddings":[{"values":[3,4]},{"values":[0,0]}]}`), kittest.JSON(`{"embeddings":[{"values":[0,2]}]}`))
	e := embedderAt(t, server.URL, func(c *Config) {
		c.BatchSize, c.TaskType, c.Title, c.OutputDimensionality = 2, "RETRIEVAL_DOCUMENT", "T", new(int32(2))
	})
	got, err := e.EmbedStrings(t.Context(), []string{"a", "b", "c"})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0.6, 0.8}, {0, 0}, {0, 1}}, got, "shortened vectors are scaled")
	sent := server.Requests()[0]
	require.Equal(t, "/v1beta/models/gemini-embedding-001:batchEmbedContents", sent.URL)
	require.Equal(t, testKey, sent.Header.Get("X-Goog-Api-Key"))
	require.JSONEq(t, `{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"c"}]},"taskType":"RETRIEVAL_DOCUMENT",
		"title":"T","outputDimensionality":2}`, string(server.Requests()[1].Body[len(`{"requests":[`):len(server.Requests()[1].Body)-2]))
}

// Rules providers/E4, providers/E5.
func TestEmbed_Vertex(t *testing.T) {
	answer := kittest.JSON(`{"predictions":[{"embeddings":{"values":[3,4],"statistics":{"token_count":7,"truncated":false}}}]}`)
	server := kittest.Server(t, nil, kittest.Always(answer))
	e := embedderAt(t, server.URL, func(c *Config) {
		c.APIKey, c.Project, c.Location = "", "p", "europe-west1"
		c.TokenSource = func(context.Context) (string, error) { return "token", nil }
		c.TaskType = "RETRIEVAL_QUERY"
	})
	got, err := e.EmbedStrings(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{3, 4}, {3, 4}}, got)
	require.Len(t, server.Requests(), 2, "newer models take one text a request")
	sent := server.Requests()[0]
	require.Equal(t, "/v1beta/projects/p/locations/europe-west1/publishers/google/models/gemini-embedding-001:predict", sent.URL)
	require.Equal(t, "Bearer token", sent.Header.Get("Authorization"))
	require.JSONEq(t, `{"instances":[{"content":"a","task_type":"RETRIEVAL_QUERY"}],"parameters":{"autoTruncate":false}}`, string(sent.Body))
	require.Equal(t, "https://europe-west1-aiplatform.googleapis.com/v1", (&Config{Project: "p", Location: "europe-west1"}).baseURL())
	require.Equal(t, "gcp.vertex_ai", e.Provider())
}

// Rules providers/K1, providers/K2, providers/K5.
func TestConfig_FaultsEnvironmentAndSecrets(t *testing.T) {
	_, err := NewEmbedder(t.Context(), nil)
	require.Error(t, err)
	_, err = NewEmbedder(t.Context(), &Config{
		Project: "p", Title: "t", OutputDimensionality: new(int32(0)), BatchSize: -1, Timeout: -1,
	})
	for _, want := range []string{"Model", "APIKey", "Location", "Title", "OutputDimensionality", "BatchSize", "Timeout"} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewEmbedder(t.Context(), &Config{APIKey: "k", Model: "m", AutoTruncate: true})
	require.ErrorContains(t, err, "AutoTruncate")
	kittest.PoisonEnv(t)
	kittest.NoLog(t)
	server := kittest.Server(t, nil, kittest.Status(400,
		`{"error":{"code":400,"message":"API key not valid: `+testKey+`","status":"INVALID_ARGUMENT"}}`))
	e := embedderAt(t, server.URL)
	_, err = e.EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, kit.ErrAuth)
	conf := Config{APIKey: testKey, Model: "m"}
	kittest.NoSecrets(t, testKey, err, conf, &conf, e)
}
