package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

func ids(docs []*schema.Document) (all []string) {
	for _, d := range docs {
		all = append(all, d.ID)
	}
	return all
}

// letters stores documents of which "far" is far from the query "key", but has the word, and "near" is the other way
// round.
func letters(t *testing.T, store *Store, embedder *vectortest.Embedder) {
	t.Helper()
	embedder.Set("key", 1, 0)
	docs := []*schema.Document{{ID: "both", Content: "The KEY is here"}, {ID: "far", Content: "a key? a key!"},
		{ID: "near", Content: "what opens the door"}, {ID: "neither", Content: "bread and butter"}}
	docs[0].WithDenseVector([]float64{1, 0.1})
	docs[1].WithDenseVector([]float64{-1, 0.1})
	docs[2].WithDenseVector([]float64{1, 0.2})
	docs[3].WithDenseVector([]float64{-1, 0})
	docs[1].MetaData["kind"] = "letter"
	_, err := store.Store(t.Context(), docs)
	require.NoError(t, err)
}

func TestHybrid_RanksByVectorAndByWords(t *testing.T) {
	embedder := vectortest.NewEmbedder(2)
	store := open(t, &Config{Path: ":memory:", Embedding: embedder, Hybrid: true})
	letters(t, store, embedder)
	found, err := store.Retrieve(t.Context(), "key", retriever.WithTopK(2))
	require.NoError(t, err)
	require.Equal(t, []string{"both", "far"}, ids(found))
	require.InDelta(t, 0.5+0.5*61/62, found[0].Score(), 1e-9, "the first by vector and the second by words")

	found, err = store.Retrieve(t.Context(), "key", retriever.WithDSLInfo(map[string]any{"kind": "letter"}))
	require.NoError(t, err)
	require.Equal(t, []string{"far"}, ids(found))
	require.Equal(t, 1.0, found[0].Score())

	found, err = store.Retrieve(t.Context(), "key", retriever.WithScoreThreshold(0.9))
	require.NoError(t, err)
	require.Equal(t, []string{"both", "far"}, ids(found))
}

func TestHybrid_FindsWhatWasStoredWithoutIt(t *testing.T) {
	path, embedder := filepath.Join(t.TempDir(), "a.db"), vectortest.NewEmbedder(2)
	plain := open(t, &Config{Path: path, Embedding: embedder})
	letters(t, plain, embedder)
	hybrid := open(t, &Config{Path: path, Embedding: embedder, Hybrid: true})
	requireFirst := func(query, want string) {
		t.Helper()
		embedder.Set(query, -1, 0)
		found, err := hybrid.Retrieve(t.Context(), query)
		require.NoError(t, err)
		require.Equal(t, want, found[0].ID)
	}
	requireFirst("butter", "neither")
	requireFirst("OPENS the DOOR", "near")

	_, err := plain.Store(t.Context(), []*schema.Document{
		(&schema.Document{ID: "near", Content: "window"}).WithDenseVector([]float64{1, 0.2})})
	require.NoError(t, err)
	requireFirst("window", "near")
	requireFirst("door", "neither")
	require.NoError(t, plain.Delete(t.Context(), []string{"near"}))
	requireFirst("window", "neither")
}

func TestHybrid_QueriesAreNoOperators(t *testing.T) {
	embedder := vectortest.NewEmbedder(2)
	store := open(t, &Config{Path: ":memory:", Embedding: embedder, Hybrid: true})
	letters(t, store, embedder)
	for _, query := range []string{
		`"`, `'`, `key AND`, `NEAR(`, `content:key`, `*`, `-`, `^key`, `key"OR"`, "?!", "a\x00b", "OR",
	} {
		_, err := store.Retrieve(t.Context(), query)
		require.NoError(t, err, query)
	}
}

// The scores of a hybrid search are no cosines; all else holds for it, too.
func TestHybrid_StoresAsOthersDo(t *testing.T) {
	embedder := vectortest.NewEmbedder(8)
	store := open(t, &Config{Path: ":memory:", Embedding: embedder, Hybrid: true})
	var dimension *vector.DimensionError
	_, err := store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "text"}})
	require.NoError(t, err)
	_, err = store.Retrieve(t.Context(), "text", retriever.WithEmbedding(vectortest.NewEmbedder(9)))
	require.ErrorAs(t, err, &dimension)
	found, err := store.Retrieve(t.Context(), "text", retriever.WithIndex("other"))
	require.NoError(t, err)
	require.Empty(t, found)
}
