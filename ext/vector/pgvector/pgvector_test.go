package pgvector

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

func open(t *testing.T, config *Config) *Store {
	t.Helper()
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	return store
}

func TestStore(t *testing.T) {
	vectortest.Run(t, func(t *testing.T, s vector.Settings) vectortest.Store {
		pool, schema := newPool(t)
		return open(t, &Config{
			Pool: pool, Schema: schema, CreateTable: true, Exact: true, Embedding: s.Embedding,
			TopK: s.TopK, ScoreThreshold: s.ScoreThreshold, BatchSize: s.BatchSize,
		})
	})
}

func TestOpen_BadConfig(t *testing.T) {
	_, err := Open(t.Context(), nil)
	require.EqualError(t, err, "pgvector: config is nil")
	_, err = Open(t.Context(), &Config{TopK: -1, Table: strings.Repeat("x", 64)})
	for _, want := range []string{"pgvector: config: ", "there is no Pool", "TopK", "has 64 bytes"} {
		require.ErrorContains(t, err, want)
	}
}

func TestOpen_NoServer(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none?sslmode=disable")
	require.NoError(t, err)
	defer pool.Close()
	_, err = Open(t.Context(), &Config{Pool: pool})
	require.ErrorContains(t, err, "pgvector: looking for the extension vector: ")
}

func TestOpen_DatabaseWithoutTheExtension(t *testing.T) {
	pool, _ := newPool(t)
	_, err := pool.Exec(t.Context(), "DROP EXTENSION IF EXISTS vector")
	require.NoError(t, err)
	_, err = Open(t.Context(), &Config{Pool: pool})
	require.ErrorContains(t, err, "the database has no extension vector: run CREATE EXTENSION vector, or set CreateTable")
	open(t, &Config{Pool: pool, CreateTable: true})
	open(t, &Config{Pool: pool})
}

func numbered(count int) []*schema.Document {
	docs := make([]*schema.Document, count)
	for i := range docs {
		text := fmt.Sprint("document ", i)
		docs[i] = &schema.Document{ID: text, Content: text, MetaData: map[string]any{"rare": i%30 == 0}}
	}
	return docs
}

func TestRetrieve_ThroughTheIndexFindsAlmostAll(t *testing.T) {
	pool, schema := newPool(t)
	embedder := vectortest.NewEmbedder(32)
	config := &Config{Pool: pool, Schema: schema, CreateTable: true, Embedding: embedder, BatchSize: 500}
	store := open(t, config)
	_, err := store.Store(t.Context(), numbered(600))
	require.NoError(t, err)
	config.Exact = true
	exact := open(t, config)

	var definition string
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND indexdef LIKE '%hnsw%'", schema).Scan(&definition))
	require.Contains(t, definition, "vector_cosine_ops")
	const searches, limit = 20, 10
	nearest := map[string]bool{} // query and ID
	for i := range searches {
		query := fmt.Sprint("query ", i)
		docs, err := exact.Retrieve(t.Context(), query, retriever.WithTopK(limit))
		require.NoError(t, err)
		for _, doc := range docs {
			nearest[query+doc.ID] = true
		}
	}
	requireIndexScan(t, pool, schema)
	hits := 0
	for i := range searches {
		query := fmt.Sprint("query ", i)
		docs, err := store.Retrieve(t.Context(), query, retriever.WithTopK(limit))
		require.NoError(t, err)
		require.Len(t, docs, limit)
		for _, doc := range docs {
			if nearest[query+doc.ID] {
				hits++
			}
		}
	}
	require.Greater(t, hits, searches*limit*9/10)

	rare, err := store.Retrieve(t.Context(), "query", retriever.WithTopK(15),
		retriever.WithDSLInfo(map[string]any{"rare": true}))
	require.NoError(t, err)
	require.Len(t, rare, 15, "the filter leaves 1 of 30")
	many, err := store.Retrieve(t.Context(), "query", retriever.WithTopK(400))
	require.NoError(t, err)
	require.Len(t, many, 400, "more than the index returns at once")
}

// requireIndexScan makes searches take the index, also in a small table, and fails if they would not.
func requireIndexScan(t *testing.T, pool *pgxpool.Pool, schema string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "SET enable_seqscan = off")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "RESET enable_seqscan")
		require.NoError(t, err)
	})
	b := &backend{schema: schema}
	table, err := b.table("documents")
	require.NoError(t, err)
	s, err := newStatement(&vector.Query{Vector: make([]float32, 32), Limit: 10})
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), "EXPLAIN "+s.text(table), s.args...)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, strings.Join(plan, "\n"), "Index Scan using")
}

func TestStore_TableOfTheCaller(t *testing.T) {
	pool, schemaName := newPool(t)
	config := &Config{Pool: pool, Schema: schemaName, Table: "mine", Embedding: vectortest.NewEmbedder(3)}
	config.CreateTable = true
	open(t, config) // creates the extension
	config.CreateTable = false
	store := open(t, config)
	docs := []*schema.Document{{ID: "a", Content: "a"}}
	_, err := store.Store(t.Context(), docs)
	require.ErrorContains(t, err, `"mine" with a column embedding: create it, or set CreateTable`)
	_, err = store.Retrieve(t.Context(), "a")
	require.ErrorContains(t, err, "create it, or set CreateTable")
	require.ErrorContains(t, store.Delete(t.Context(), []string{"a"}), "create it, or set CreateTable")

	_, err = pool.Exec(t.Context(), `CREATE TABLE `+pgx.Identifier{schemaName, "mine"}.Sanitize()+` (
		id text PRIMARY KEY, content text NOT NULL, metadata jsonb NOT NULL, embedding vector(3) NOT NULL, added timestamptz DEFAULT now())`)
	require.NoError(t, err)
	_, err = store.Store(t.Context(), docs)
	require.NoError(t, err)
	found, err := store.Retrieve(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, found, 1)
	var dimension *vector.DimensionError
	_, err = store.Store(t.Context(), docs, indexer.WithEmbedding(vectortest.NewEmbedder(4)))
	require.ErrorAs(t, err, &dimension)

	_, err = store.Store(t.Context(), docs, indexer.WithIndex(strings.Repeat("x", 64)))
	require.ErrorContains(t, err, "PostgreSQL allows 63")
	_, err = store.Retrieve(t.Context(), "a", retriever.WithIndex(""))
	require.ErrorContains(t, err, "the name of the table is empty")
}
