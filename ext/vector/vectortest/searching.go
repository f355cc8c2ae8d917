package vectortest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/schema"
)

// heedless embeds although the context has ended.
type heedless struct{ *Embedder }

func (h heedless) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	return h.Embedder.EmbedStrings(context.Background(), texts)
}

func testEmptyIndex(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	require.Empty(t, f.all(t))
	require.Empty(t, f.all(t, retriever.WithIndex("elsewhere")))
}

func testLimits(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{TopK: 3, ScoreThreshold: new(-0.9)})
	for i := range 10 {
		text := fmt.Sprint(i)
		f.embedder.Set(text, math.Cos(float64(i)/10*math.Pi), math.Sin(float64(i)/10*math.Pi), 0, 0)
		f.store(t, doc(text, text))
	}
	require.Equal(t, []string{"0", "1", "2"}, idsOf(f.retrieve(t, "0")))
	require.Equal(t, []string{"0"}, idsOf(f.retrieve(t, "0", retriever.WithTopK(1))))
	require.Len(t, f.retrieve(t, "0", retriever.WithTopK(100)), 9, "the last one has a score of -0.95")
	require.Len(t, f.retrieve(t, "0", retriever.WithTopK(100), retriever.WithScoreThreshold(-1)), 10)
	found := f.retrieve(t, "0", retriever.WithTopK(100), retriever.WithScoreThreshold(0.5))
	require.Equal(t, []string{"0", "1", "2", "3"}, idsOf(found))
	for i, d := range found {
		require.InDelta(t, math.Cos(float64(i)/10*math.Pi), d.Score(), 1e-5)
	}
	for _, limit := range []int{0, -1} {
		_, err := f.Retrieve(t.Context(), "0", retriever.WithTopK(limit))
		require.ErrorContains(t, err, "must be positive")
	}
	_, err := f.Retrieve(t.Context(), "0", retriever.WithScoreThreshold(math.NaN()))
	require.ErrorContains(t, err, "threshold")
}

func testIndexes(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	f.store(t, doc("a", "a").WithSubIndexes([]string{"red"}), doc("b", "b"))
	_, err := f.Store.Store(t.Context(), []*schema.Document{doc("c", "c"), doc("d", "d").WithSubIndexes([]string{"red"})},
		indexer.WithSubIndexes([]string{"blue, green", "*"}))
	require.NoError(t, err)
	for subIndex, want := range map[string][]string{
		"red": {"a", "d"}, "blue, green": {"c", "d"}, "*": {"c", "d"}, "re": {}, "blue": {}, "RED": {}, "": {},
	} {
		require.Equal(t, want, f.all(t, retriever.WithSubIndex(subIndex)), "%q", subIndex)
	}
	require.ElementsMatch(t, []string{"red", "blue, green", "*"},
		f.retrieve(t, "d", retriever.WithTopK(1))[0].SubIndexes())

	for _, index := range []string{"other", `it's "another"; DROP`, "a:doc:", "日本"} {
		_, err := f.Store.Store(t.Context(), numbered("a", "z"), indexer.WithIndex(index))
		if err != nil {
			continue // a store may have rules for names
		}
		require.Equal(t, []string{"a", "z"}, f.all(t, retriever.WithIndex(index)), index)
		require.NoError(t, f.Delete(t.Context(), []string{"z"}, indexer.WithIndex(index)))
		require.Equal(t, []string{"a"}, f.all(t, retriever.WithIndex(index)), index)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, f.all(t))
}

// testFilters compares what is found with what vector.Filter.Match says.
func testFilters(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{})
	metadata := []map[string]any{
		{}, {"kind": "letter"}, {"kind": "note", "year": 1999}, {"kind": "letter", "year": 2000.5},
		{"year": 2001, "tags": []string{"a", "b"}}, {"tags": []string{"b", "c d"}, "open": true},
		{"tags": []string{}, "open": false, "year": -3}, {"kind": "it's, {\"odd\"} | *", "year": 0},
		{"kind": "Letter"}, {hostileKey: "found", "kind": "a-b.c@d"}, {hostileKey: "found not"},
	}
	for i, fields := range metadata {
		f.store(t, &schema.Document{ID: fmt.Sprintf("%02d", i), Content: "content", MetaData: fields})
	}
	for _, dsl := range []map[string]any{
		{"kind": "letter"}, {"kind": "it's, {\"odd\"} | *"}, {"kind": "a-b.c@d"}, {"kind": "absent"},
		{"year": 1999}, {"year": 2000.5},
		{"kind": []string{"letter", "note"}}, {"kind": map[string]any{"$ne": "letter"}}, {"tags": "b"}, {"tags": "c d"},
		{"kind": map[string]any{"$nin": []string{"letter", "note"}}}, {"tags": map[string]any{"$nin": []any{"a", "z"}}},
		{"year": map[string]any{"$gte": 1999}}, {"year": map[string]any{"$gt": 1999, "$lt": 2001}},
		{"year": map[string]any{"$lte": 0}}, {"year": map[string]any{"$lt": 0.5}}, {"year": map[string]any{"$ne": 1999}},
		{"open": true}, {"open": false}, {"open": map[string]any{"$ne": true}}, {hostileKey: "found"},
		{"kind": "letter", "year": map[string]any{"$gt": 0}}, {"kind": map[string]any{"$eq": "note"}, "year": 1999},
		{"tags": map[string]any{"$in": []string{"a", "c d"}}, "year": map[string]any{"$nin": []int{2001}}},
	} {
		filter, err := vector.ParseFilter(dsl)
		require.NoError(t, err)
		want := []string{}
		for i, fields := range metadata {
			if filter.Match(decoded(t, fields)) {
				want = append(want, fmt.Sprintf("%02d", i))
			}
		}
		require.Equal(t, want, f.all(t, retriever.WithDSLInfo(dsl)), "%v", dsl)
	}
	calls := len(f.embedder.Calls())
	for want, dsl := range map[string]map[string]any{
		"there is no such operator": {"year": map[string]any{"$near": 1}},
		"it takes a number":         {"year": map[string]any{"$gt": "1"}},
		"operators stand below":     {"$or": []any{}},
		"cannot be written as JSON": {"year": math.NaN()},
		"values are strings":        {"year": nil},
		"the list is empty":         {"year": []int{}},
	} {
		_, err := f.Retrieve(t.Context(), "x", retriever.WithDSLInfo(dsl))
		require.ErrorContains(t, err, want)
	}
	require.Len(t, f.embedder.Calls(), calls)
}

// testOracle compares random searches with the cosines of all documents.
func testOracle(t *testing.T, factory Factory) {
	const dimensions, count, searches = 16, 300, 20
	embedder := NewEmbedder(dimensions)
	f := &fixture{embedder: embedder, Store: factory(t, vector.Settings{Embedding: embedder})}
	contents, years := make([]string, count), make([]int, count)
	docs := make([]*schema.Document, count)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range docs {
		contents[i], years[i] = fmt.Sprintf("document %d", i), random.IntN(4)
		docs[i] = &schema.Document{ID: contents[i], Content: contents[i], MetaData: map[string]any{"year": years[i]}}
	}
	f.store(t, docs...)
	for i := range searches {
		query, topK, year := fmt.Sprintf("query %d", i), 1+random.IntN(20), random.IntN(4)
		opts := []retriever.Option{retriever.WithTopK(topK)}
		if i%2 == 1 {
			opts = append(opts, retriever.WithDSLInfo(map[string]any{"year": year}))
		}
		var want []vector.Match
		for d := range docs {
			if i%2 == 0 || years[d] == year {
				want = append(want, vector.Match{ID: contents[d], Score: cosine(t, embedder, query, contents[d])})
			}
		}
		slices.SortFunc(want, func(a, b vector.Match) int { return cmp.Compare(b.Score, a.Score) })
		found := f.retrieve(t, query, opts...)
		require.Len(t, found, min(topK, len(want)))
		for k, d := range found {
			require.Equal(t, want[k].ID, d.ID)
			require.InDelta(t, want[k].Score, d.Score(), 1e-5)
		}
	}
}

func cosine(t *testing.T, embedder *Embedder, a, b string) float64 {
	t.Helper()
	vectors, err := embedder.EmbedStrings(t.Context(), []string{a, b})
	require.NoError(t, err)
	var ab, aa, bb float64
	for i := range vectors[0] {
		x, y := vectors[0][i], vectors[1][i]
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func testConcurrency(t *testing.T, factory Factory) {
	const workers, rounds = 6, 5
	f := newFixture(t, factory, vector.Settings{BatchSize: 2})
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for round := range rounds {
				own := fmt.Sprintf("own %d %d", worker, round)
				_, err := f.Store.Store(t.Context(), numbered("shared a", own, "shared b"))
				if err != nil {
					t.Errorf("store: %v", err)
					return
				}
				docs, err := f.Retrieve(t.Context(), own, retriever.WithTopK(1))
				if err != nil || len(docs) != 1 || docs[0].ID != own {
					t.Errorf("retrieve: %v, %v", idsOf(docs), err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, f.all(t), workers*rounds+2)
}

// fired counts the callbacks of components, and keeps the last payloads.
type fired struct {
	starts, ends, errs map[components.Component]int
	types              map[components.Component]string
	stored             *indexer.CallbackInput
	ids                *indexer.CallbackOutput
	asked              *retriever.CallbackInput
	found              *retriever.CallbackOutput
}

func (f *fired) handler() callbacks.Handler {
	type counts = map[components.Component]int
	f.starts, f.ends, f.errs = counts{}, counts{}, counts{}
	f.types = map[components.Component]string{}
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			f.starts[info.Component]++
			f.types[info.Component] = info.Type
			switch info.Component {
			case components.ComponentOfIndexer:
				f.stored = indexer.ConvCallbackInput(in)
			case components.ComponentOfRetriever:
				f.asked = retriever.ConvCallbackInput(in)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			f.ends[info.Component]++
			switch info.Component {
			case components.ComponentOfIndexer:
				f.ids = indexer.ConvCallbackOutput(out)
			case components.ComponentOfRetriever:
				f.found = retriever.ConvCallbackOutput(out)
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			f.errs[info.Component]++
			return ctx
		}).Build()
}

func testCallbacks(t *testing.T, factory Factory) {
	f := newFixture(t, factory, vector.Settings{BatchSize: 1})
	require.True(t, f.IsCallbacksEnabled())
	seen := new(fired)
	ctx := callbacks.InitCallbacks(t.Context(), nil, seen.handler())
	docs := numbered("a", "b")
	ids, err := f.Store.Store(ctx, docs)
	require.NoError(t, err)
	require.Equal(t, docs, seen.stored.Docs)
	require.Equal(t, ids, seen.ids.IDs)
	found, err := f.Retrieve(ctx, "a", retriever.WithTopK(2), retriever.WithScoreThreshold(-1),
		retriever.WithDSLInfo(map[string]any{"kind": map[string]any{"$ne": "x"}}))
	require.NoError(t, err)
	require.Equal(t, found, seen.found.Docs)
	require.Equal(t, "a", seen.asked.Query)
	require.Equal(t, 2, seen.asked.TopK)
	require.Equal(t, -1.0, *seen.asked.ScoreThreshold)
	require.JSONEq(t, `{"kind":{"$ne":"x"}}`, seen.asked.Filter)
	require.Equal(t, f.GetType(), seen.types[components.ComponentOfIndexer])
	require.Equal(t, f.GetType(), seen.types[components.ComponentOfRetriever])

	_, err = f.Store.Store(ctx, []*schema.Document{nil})
	require.Error(t, err)
	_, err = f.Retrieve(ctx, "")
	require.Error(t, err)
	counts := func(n, embeddings int) map[components.Component]int {
		m := map[components.Component]int{components.ComponentOfIndexer: n, components.ComponentOfRetriever: n}
		if embeddings > 0 {
			m[components.ComponentOfEmbedding] = embeddings
		}
		return m
	}
	require.Equal(t, counts(2, 3), seen.starts)
	require.Equal(t, counts(1, 3), seen.ends)
	require.Equal(t, counts(1, 0), seen.errs)
}

// decoded returns metadata as a store gives it back.
func decoded(t *testing.T, fields map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(fields)
	require.NoError(t, err)
	read, err := vector.DecodeMetaData(data)
	require.NoError(t, err)
	return read
}
