package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

var (
	_ indexer.Indexer     = (*Store)(nil)
	_ retriever.Retriever = (*Store)(nil)
	_ components.Checker  = (*Store)(nil)
)

func open(t *testing.T, config *Config) *Store {
	t.Helper()
	store, err := Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func conf(s vector.Settings) *Config {
	return &Config{Embedding: s.Embedding, TopK: s.TopK, ScoreThreshold: s.ScoreThreshold, BatchSize: s.BatchSize}
}

func TestStore(t *testing.T) {
	for name, path := range map[string]func(*testing.T) string{
		"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "with ? and #.db") },
		"memory": func(*testing.T) string { return ":memory:" },
	} {
		t.Run(name, func(t *testing.T) {
			vectortest.Run(t, func(t *testing.T, s vector.Settings) vectortest.Store {
				c := conf(s)
				c.Path = path(t)
				return open(t, c)
			})
		})
	}
}

func TestOpen_BadConfig(t *testing.T) {
	_, err := Open(t.Context(), nil)
	require.EqualError(t, err, "sqlite: config is nil")
	_, err = Open(t.Context(), &Config{TopK: -1, BatchSize: -1, ScoreThreshold: new(math.NaN())})
	for _, want := range []string{"sqlite: config: ", "neither Path nor DB", "TopK", "BatchSize", "ScoreThreshold"} {
		require.ErrorContains(t, err, want)
	}
	_, err = Open(t.Context(), &Config{Path: "a", DB: new(sql.DB)})
	require.ErrorContains(t, err, "choose one")
	_, err = Open(t.Context(), &Config{Path: filepath.Join(t.TempDir(), "no", "folder", "a.db")})
	require.ErrorContains(t, err, "a.db")
}

func TestOpen_DocumentsAreThereAgain(t *testing.T) {
	path, embedder := filepath.Join(t.TempDir(), "a.db"), vectortest.NewEmbedder(4)
	store, err := Open(t.Context(), &Config{Path: path, Embedding: embedder})
	require.NoError(t, err)
	_, err = store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "text"}})
	require.NoError(t, err)
	require.NoError(t, store.Close())

	found, err := open(t, &Config{Path: path, Embedding: embedder}).Retrieve(t.Context(), "text")
	require.NoError(t, err)
	require.Equal(t, "a", found[0].ID)
}

func TestOpen_DatabaseOfTheCallerStaysOpen(t *testing.T) {
	db, err := openFile(filepath.Join(t.TempDir(), "a.db"))
	require.NoError(t, err)
	defer db.Close()
	store := open(t, &Config{DB: db, Embedding: vectortest.NewEmbedder(4)})
	_, err = store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "text"}})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	var count int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM weft_documents").Scan(&count))
	require.Equal(t, 1, count)
}

// Each store has connections of its own, as another process has.
func TestStore_SeveralStoresOnOneFile(t *testing.T) {
	path, embedder := filepath.Join(t.TempDir(), "a.db"), vectortest.NewEmbedder(4)
	done := make(chan error)
	for i := range 4 {
		store := open(t, &Config{Path: path, Embedding: embedder, Hybrid: i%2 == 0})
		go func() {
			var err error
			for n := 0; n < 10 && err == nil; n++ {
				_, err = store.Store(t.Context(), []*schema.Document{{Content: fmt.Sprint(i, n)}, {ID: "shared", Content: "text"}})
			}
			done <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	found, err := open(t, &Config{Path: path, Embedding: embedder, TopK: 100}).Retrieve(t.Context(), "text")
	require.NoError(t, err)
	require.Len(t, found, 41)
}
