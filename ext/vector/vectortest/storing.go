package vectortest

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/schema"
)

func testRoundTrip(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	given := map[string]any{
		"int": 7, "negative": int64(-1), "large": int64(1)<<53 + 1, "half": 0.5, "text": "ü\n'\"\\", "yes": true,
		"nothing": nil, "list": []any{1, "two", 2.5}, "object": map[string]any{"deep": map[string]any{"n": 1}},
	}
	stored := (&schema.Document{ID: "a", Content: "one", MetaData: maps.Clone(given)}).
		WithSubIndexes([]string{"y", "x"}).WithExtraInfo("extra").WithScore(9).WithDSLInfo(map[string]any{"a": 1})
	require.Equal(t, []string{"a"}, f.store(t, stored))
	require.Equal(t, 9.0, stored.Score(), "the document is not changed")

	found := f.retrieve(t, "one")
	require.Len(t, found, 1)
	require.Equal(t, "a", found[0].ID)
	require.Equal(t, "one", found[0].Content)
	require.InDelta(t, 1, found[0].Score(), 1e-5)
	require.Equal(t, "extra", found[0].ExtraInfo())
	require.ElementsMatch(t, []string{"x", "y"}, found[0].SubIndexes())
	require.Nil(t, found[0].DSLInfo())
	want := maps.Clone(given)
	want["int"], want["negative"] = int64(7), int64(-1)
	want["list"], want["object"] = []any{int64(1), "two", 2.5}, map[string]any{"deep": map[string]any{"n": int64(1)}}
	for key := range want {
		require.Contains(t, found[0].MetaData, key)
		require.Equal(t, want[key], found[0].MetaData[key], key)
	}
}

func testGeneratedIDs(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{BatchSize: 2})
	docs := []*schema.Document{doc("", "one"), doc("b", "two"), doc("", "three")}
	ids := f.store(t, docs...)
	require.Equal(t, "b", ids[1])
	require.NotEqual(t, ids[0], ids[2])
	require.Empty(t, docs[0].ID, "the document is not changed")
	for i, text := range []string{"one", "two", "three"} {
		found := f.retrieve(t, text, retriever.WithTopK(1))
		require.Equal(t, []string{ids[i]}, idsOf(found))
		require.Equal(t, text, found[0].Content)
	}
}

func testUpsert(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	old := doc("a", "old").WithExtraInfo("of old").WithSubIndexes([]string{"of old"})
	f.store(t, old, doc("b", "other"))
	f.store(t, doc("a", "new"))
	require.Equal(t, []string{"a", "b"}, f.all(t))
	found := f.retrieve(t, "new", retriever.WithTopK(1))
	require.Equal(t, "new", found[0].Content)
	require.InDelta(t, 1, found[0].Score(), 1e-5)
	require.Empty(t, found[0].ExtraInfo())
	require.Empty(t, f.all(t, retriever.WithSubIndex("of old")))

	require.Equal(t, []string{"c", "c"}, f.store(t, doc("c", "first"), doc("c", "second")))
	require.Equal(t, []string{"a", "b", "c"}, f.all(t))
	require.Equal(t, "second", f.retrieve(t, "second", retriever.WithTopK(1))[0].Content)
}

func testHostileTexts(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	for _, text := range []string{
		`'; DROP TABLE weft_documents; --`, `"`, "a b", `\`, "%", "*?[a]", ":", "a:b", "$1", "{}", "ü", "日本",
		"\t\r\n", "../..", "NULL", "",
	} {
		stored := doc("id"+text, "content"+text)
		stored.MetaData = map[string]any{hostileKey + text: text}
		f.store(t, stored)
		found := f.retrieve(t, "content"+text, retriever.WithTopK(1))
		require.Equal(t, []string{"id" + text}, idsOf(found))
		require.Equal(t, "content"+text, found[0].Content)
		require.Equal(t, text, found[0].MetaData[hostileKey+text])
		f.store(t, stored)
	}
	require.Len(t, f.all(t), 16)
}

func testLongDocument(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	text := strings.Repeat("A long text. ", 50_000)
	f.store(t, doc("a", text))
	require.Equal(t, text, f.retrieve(t, text)[0].Content)
}

func testDelete(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	require.NoError(t, f.Delete(t.Context(), []string{"a"}), "nothing was stored yet")
	f.store(t, numbered("a", "b", "c")...)
	require.NoError(t, f.Delete(t.Context(), nil))
	require.NoError(t, f.Delete(t.Context(), []string{"a", "c", "of another"}))
	require.Equal(t, []string{"b"}, f.all(t))
	require.NoError(t, f.Delete(t.Context(), []string{"b"}, indexer.WithIndex("elsewhere")))
	require.Equal(t, []string{"b"}, f.all(t))
	f.store(t, doc("a", "a"))
	require.Equal(t, []string{"a", "b"}, f.all(t))
}

func testBatches(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{BatchSize: 3})
	f.store(t, numbered("a", "b", "c", "d", "e", "f", "g")...)
	require.Equal(t, [][]string{{"a", "b", "c"}, {"d", "e", "f"}, {"g"}}, f.embedder.Calls())
}

func testFailedBatch(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{BatchSize: 2})
	fault := errors.New("no")
	f.embedder.Fail("d", fault)
	ids, err := f.Store.Store(t.Context(), numbered("a", "b", "c", "d", "e"))
	require.ErrorIs(t, err, fault)
	require.ErrorContains(t, err, "documents 2 to 3 (2 are stored)")
	require.Equal(t, []string{"a", "b"}, ids)
	require.Equal(t, []string{"a", "b"}, f.all(t))

	f.embedder.Set("y", 1, 2, 3)
	_, err = f.Store.Store(t.Context(), numbered("x", "y"))
	require.Error(t, err)
	require.Equal(t, []string{"a", "b"}, f.all(t))
}

func testBadDocuments(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{BatchSize: 1})
	for want, bad := range map[string]*schema.Document{
		"it is nil":           nil,
		"has no content":      {ID: "a"},
		"is not valid UTF-8":  {ID: "a", Content: "\xff"},
		"the ID \"\\xff\" is": {ID: "\xff", Content: "a"},
		"the metadata of":     {ID: "a", Content: "a", MetaData: map[string]any{"f": func() {}}},
	} {
		ids, err := f.Store.Store(t.Context(), []*schema.Document{doc("good", "good"), bad})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "document 1")
		require.Empty(t, ids)
	}
	require.Empty(t, f.embedder.Calls())
}

func testBadVectors(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	for want, bad := range map[string][]float64{
		"dimension 1 of the vector is NaN":  {1, math.NaN(), 0, 0},
		"dimension 0 of the vector is +Inf": {math.Inf(1), 0, 0, 0},
		"are zero":                          {0, 0, 0, 0},
		"no dimensions":                     {},
	} {
		f.embedder.Set("bad", bad...)
		_, err := f.Store.Store(t.Context(), numbered("good", "bad"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `document 1 ("bad")`)
		_, err = f.Retrieve(t.Context(), "bad")
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, f.all(t))

	f.embedder.Set("huge", 1e300, 1e300, 0, 0)
	f.embedder.Set("tiny", 1e-300, 1e-300, 0, 0)
	f.store(t, doc("huge", "huge"))
	require.InDelta(t, 1, f.retrieve(t, "tiny")[0].Score(), 1e-5)
}

func testDimension(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	f.store(t, doc("a", "a"))
	other := NewEmbedder(5)
	_, storing := f.Store.Store(t.Context(), numbered("b"), indexer.WithEmbedding(other))
	_, searching := f.Retrieve(t.Context(), "a", retriever.WithEmbedding(other))
	for _, err := range []error{storing, searching} {
		var dimension *vector.DimensionError
		require.ErrorAs(t, err, &dimension)
		require.Equal(t, [2]int{4, 5}, [2]int{dimension.Want, dimension.Got})
	}
	require.Equal(t, []string{"a"}, f.all(t))
	_, err := f.Store.Store(t.Context(), numbered("c"), indexer.WithEmbedding(other), indexer.WithIndex("five"))
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, f.all(t, retriever.WithEmbedding(other), retriever.WithIndex("five")))
}

func testDenseVector(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	f.embedder.Set("question", 3, 4, 0, 0)
	f.store(t, doc("a", "").WithDenseVector([]float64{6, 8, 0, 0}), doc("b", "embedded"))
	require.Equal(t, [][]string{{"embedded"}}, f.embedder.Calls())
	found := f.retrieve(t, "question", retriever.WithTopK(1))
	require.Equal(t, []string{"a"}, idsOf(found))
	require.InDelta(t, 1, found[0].Score(), 1e-5)
}

func testEmptyInput(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	require.Empty(t, f.store(t))
	_, err := f.Retrieve(t.Context(), "")
	require.ErrorContains(t, err, "the query is empty")
	require.Empty(t, f.embedder.Calls())
}

func testCancel(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	f.store(t, doc("a", "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The vectors are there, so it is the store that must see the end of the context.
	_, err := f.Store.Store(ctx, []*schema.Document{doc("b", "b").WithDenseVector([]float64{1, 2, 3, 4})})
	require.ErrorIs(t, err, context.Canceled)
	_, err = f.Retrieve(ctx, "a", retriever.WithEmbedding(heedless{f.embedder}))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, f.Delete(ctx, []string{"a"}), context.Canceled)
	require.Equal(t, []string{"a"}, f.all(t))
}
