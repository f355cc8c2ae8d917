package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

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

func open(t testing.TB, config *Config) *Store {
	t.Helper()
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	return store
}

func TestScan(t *testing.T) {
	vectortest.Run(t, func(t *testing.T, s vector.Settings) vectortest.Store {
		client := newClient(t)
		require.NoError(t, client.Set(t.Context(), "of another program", "x", 0).Err())
		return open(t, &Config{
			Client: client, KeyPrefix: `it's *[a]?\:`, Scan: true, Embedding: s.Embedding,
			TopK: s.TopK, ScoreThreshold: s.ScoreThreshold, BatchSize: s.BatchSize,
		})
	})
}

func TestScan_FindsAmongManyPages(t *testing.T) {
	client, embedder := newClient(t), vectortest.NewEmbedder(8)
	store := open(t, &Config{Client: client, Scan: true, Embedding: embedder, BatchSize: 1000})
	docs := make([]*schema.Document, 3*scanPage)
	for i := range docs {
		docs[i] = &schema.Document{ID: fmt.Sprint(i), Content: fmt.Sprint("document ", i)}
	}
	_, err := store.Store(t.Context(), docs)
	require.NoError(t, err)
	for _, i := range []int{0, 700, 1499} {
		found, err := store.Retrieve(t.Context(), fmt.Sprint("document ", i), retriever.WithTopK(1))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), found[0].ID)
	}
	found, err := store.Retrieve(t.Context(), "document", retriever.WithTopK(10_000))
	require.NoError(t, err)
	require.Len(t, found, len(docs))
}

func TestScan_FieldsOfTheCaller(t *testing.T) {
	client := newClient(t)
	fault := errors.New("no")
	config := &Config{
		Client: client, Scan: true, Embedding: vectortest.NewEmbedder(8), VectorField: "v",
		ReturnFields: []string{"title", "absent"},
		DocumentToHashes: func(_ context.Context, doc *schema.Document) (map[string]any, error) {
			switch doc.ID {
			case "bad":
				return map[string]any{"content": "x"}, nil
			case "worse":
				return nil, fault
			}
			return map[string]any{"title": doc.MetaData["n"]}, nil
		},
	}
	store := open(t, config)
	_, err := store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "a", MetaData: map[string]any{"n": 7}}})
	require.NoError(t, err)
	hash, err := client.HGetAll(t.Context(), "weft:documents:doc:a").Result()
	require.NoError(t, err)
	require.Len(t, hash["v"], 32)
	delete(hash, "v")
	require.Equal(t, map[string]string{"id": "a", "content": "a", "metadata": `{"n":7}`, "title": "7"}, hash)

	found, err := store.Retrieve(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "7", found[0].MetaData["title"])
	require.Equal(t, int64(7), found[0].MetaData["n"])
	require.NotContains(t, found[0].MetaData, "absent")

	_, err = store.Store(t.Context(), []*schema.Document{{ID: "bad", Content: "a"}})
	require.ErrorContains(t, err, `the field "content" of DocumentToHashes is one of the store`)
	_, err = store.Store(t.Context(), []*schema.Document{{ID: "worse", Content: "a"}})
	require.ErrorIs(t, err, fault)
}

func TestOpen_BadConfig(t *testing.T) {
	_, err := Open(t.Context(), nil)
	require.EqualError(t, err, "redis: config is nil")
	_, err = Open(t.Context(), &Config{
		TopK: -1, Dialect: 1, VectorField: "content", ScoreThreshold: new(0.5), DistanceThreshold: new(0.5),
	})
	for _, want := range []string{"redis: config: ", "no Client", "TopK", "Dialect 1", "VectorField", "choose one"} {
		require.ErrorContains(t, err, want)
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{})
	defer cluster.Close()
	_, err = Open(t.Context(), &Config{Client: cluster, Scan: true})
	require.ErrorContains(t, err, "leave out Scan")
}

func TestOpen_ServerWithoutSearch(t *testing.T) {
	client := newClient(t)
	_, err := Open(t.Context(), &Config{Client: client})
	require.ErrorContains(t, err, "redis: the server has no search module")
	require.ErrorContains(t, err, "or set Scan")
}

func TestOpen_NoServer(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer client.Close()
	for scan, want := range map[bool]string{true: "does not answer", false: "looking for the search module"} {
		_, err := Open(t.Context(), &Config{Client: client, Scan: scan})
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkScan(b *testing.B) {
	store := open(b, &Config{Client: newClient(b), Scan: true, Embedding: vectortest.NewEmbedder(768)})
	docs := make([]*schema.Document, 10_000)
	for i := range docs {
		docs[i] = &schema.Document{ID: fmt.Sprint(i), Content: fmt.Sprint("document ", i)}
	}
	_, err := store.Store(b.Context(), docs)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := store.Retrieve(b.Context(), "document 7"); err != nil {
			b.Fatal(err)
		}
	}
}
