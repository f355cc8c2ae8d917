package qdrant

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

var (
	_ indexer.Indexer     = (*Store)(nil)
	_ retriever.Retriever = (*Store)(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a store with a client of its own, whose connections are closed after the test.
func open(t *testing.T, config *Config) *Store {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	config.HTTPClient = &http.Client{Transport: transport}
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	return store
}

func TestStore(t *testing.T) {
	vectortest.Run(t, func(t *testing.T, s vector.Settings) vectortest.Store {
		return open(t, &Config{
			URL: newFake(t).URL + "/", APIKey: testKey, CreateCollection: true, Exact: true, Embedding: s.Embedding,
			TopK: s.TopK, ScoreThreshold: s.ScoreThreshold, BatchSize: s.BatchSize,
		})
	})
}

func TestOpen_BadConfig(t *testing.T) {
	_, err := Open(t.Context(), nil)
	require.EqualError(t, err, "qdrant: config is nil")
	_, err = Open(t.Context(), &Config{URL: "ftp://user:password@host", APIKey: "key\n", TopK: -1})
	for _, want := range []string{"qdrant: config: ", "the URL must", "APIKey", "TopK"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "password")
}

func TestStore_WithoutTheCollection(t *testing.T) {
	store := open(t, &Config{URL: newFake(t).URL, APIKey: testKey, Embedding: vectortest.NewEmbedder(4)})
	_, err := store.Store(t.Context(), []*schema.Document{{Content: "a"}})
	require.ErrorContains(t, err, `there is no collection "documents": create it, or set CreateCollection`)
	_, err = store.Retrieve(t.Context(), "a")
	require.ErrorContains(t, err, "set CreateCollection")
	require.ErrorContains(t, store.Delete(t.Context(), []string{"a"}), "set CreateCollection")
	_, err = store.Retrieve(t.Context(), "a", retriever.WithIndex(".."))
	require.ErrorContains(t, err, `a collection cannot be called ".."`)
}

func TestStore_OddAnswers(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{500, "broken", "status 500: broken"},
		{503, `{"status":{"error":"busy"}}`, "status 503: busy"},
		{200, "<html>", "the answer is not that of Qdrant"},
		{200, `{"result":[]}`, "the result is not understood"},
		{200, `{"result":{"config":{"params":{"vectors":{"a":{"size":4,"distance":"Cosine"}}}}}}`, "has named vectors"},
		{200, `{"result":{"config":{"params":{"vectors":{"size":4,"distance":"Dot"}}}}}`, `has the distance "Dot"`},
		{200, `{"result":{"config":{"params":{"vectors":{"size":4,"distance":"Cosine"}}},"points":[{"score":1}]}}`,
			"not written by this store"},
	} {
		store := open(t, &Config{URL: answering(t, c.status, c.body).URL, Embedding: vectortest.NewEmbedder(4)})
		_, err := store.Retrieve(t.Context(), "a")
		require.ErrorContains(t, err, c.want)
	}
}

func TestErrors_ShowNoSecrets(t *testing.T) {
	fake := newFake(t)
	wrongKey := &Config{URL: fake.URL, APIKey: "wrong-key", Embedding: vectortest.NewEmbedder(4)}
	store := open(t, wrongKey)
	_, err := store.Retrieve(t.Context(), "a")
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	require.ErrorContains(t, err, "Invalid API key [redacted]")

	nobody := open(t, &Config{URL: "http://user:password@127.0.0.1:1", Embedding: vectortest.NewEmbedder(4)})
	_, err = nobody.Retrieve(t.Context(), "a")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "password")

	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{wrongKey, *wrongKey, store, *store} {
			require.NotContains(t, fmt.Sprintf(format, v), "wrong-key")
		}
	}
}
