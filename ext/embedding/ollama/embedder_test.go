package ollama

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

const testKey = "the-key-of-the-test"

func embedderAt(t *testing.T, url string, change ...func(*Config)) *Embedder {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{BaseURL: url, Model: "m", APIKey: testKey, HTTPClient: &http.Client{Transport: transport}}
	for _, c := range change {
		c(conf)
	}
	e, err := NewEmbedder(t.Context(), conf)
	require.NoError(t, err)
	return e
}

// Rules providers/E1, providers/E6, providers/O5.
func TestEmbed(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), kittest.JSON(`{"embeddings":[[1,2],[3,4]],"prompt_eval_count":5}`),
		kittest.JSON(`{"embeddings":[[5,6]]}`))
	minute := time.Minute
	e := embedderAt(t, server.URL, func(c *Config) {
		c.BatchSize, c.Truncate, c.Dimensions, c.KeepAlive = 2, new(false), new(2), &minute
		c.Options = map[string]any{"num_ctx": 8192}
	})
	got, err := e.EmbedStrings(t.Context(), []string{"a", "b", "c"}, embedding.WithModel("other"))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{1, 2}, {3, 4}, {5, 6}}, got)
	require.JSONEq(t, `{"model":"other","input":["a","b"],"truncate":false,"dimensions":2,"keep_alive":"60s","options":{"num_ctx":8192}}`,
		string(server.Requests()[0].Body))
	require.Equal(t, "Bearer "+testKey, server.Requests()[0].Header.Get("Authorization"))
	require.Equal(t, "Ollama", e.GetType())
}

func TestEmbed_Errors(t *testing.T) {
	server := kittest.Server(t, nil, kittest.JSON(`{"embeddings":[[1]]}`), kittest.JSON(`{"error":"no such thing"}`),
		kittest.Status(404, `{"error":"model 'm' not found"}`), kittest.JSON(`[`))
	e := embedderAt(t, server.URL)
	for _, want := range []string{"1 vectors for 2 texts", "no such thing", "not found", "decode the response"} {
		_, err := e.EmbedStrings(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, want)
	}
	_, err := e.EmbedStrings(t.Context(), []string{""})
	require.EqualError(t, err, "ollama: text 0 is empty: leave it out")
	_, err = NewEmbedder(t.Context(), &Config{BaseURL: "x", Dimensions: new(0), BatchSize: -1})
	for _, want := range []string{"Model", "BaseURL", "Dimensions", "BatchSize"} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewEmbedder(t.Context(), nil)
	require.Error(t, err)
}

// Rules providers/K2, providers/K5.
func TestConfig_EnvironmentAndSecrets(t *testing.T) {
	kittest.PoisonEnv(t)
	kittest.NoLog(t)
	server := kittest.Server(t, nil, kittest.Status(401, `{"error":"bad `+testKey+`"}`))
	e := embedderAt(t, server.URL)
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, kit.ErrAuth)
	conf := Config{APIKey: testKey, Model: "m"}
	kittest.NoSecrets(t, testKey, err, conf, &conf, e)
}

// A batch of the default size has room for the longest vectors that models make.
func TestEmbed_AFullBatchOfLongVectors(t *testing.T) {
	vector := "[0" + strings.Repeat(",1", 4095) + "]"
	body := `{"embeddings":[` + vector + strings.Repeat(","+vector, defaultBatch-1) + `]}`
	server := kittest.Server(t, kittest.Ollama(), kittest.JSON(body))
	texts := slices.Repeat([]string{"a"}, defaultBatch)
	got, err := embedderAt(t, server.URL).EmbedStrings(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, got, defaultBatch)
	require.Len(t, got[defaultBatch-1], 4096)
}
