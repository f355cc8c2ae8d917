package vector_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

func newEngine(s vector.Settings) *vector.Engine {
	s.Name = "memory"
	return vector.New(&memory{indexes: map[string]map[string]vector.Record{}}, s)
}

func TestSettings_ValidateListsEverything(t *testing.T) {
	require.NoError(t, new(vector.Settings).Validate())
	err := (&vector.Settings{TopK: -1, BatchSize: -1, ScoreThreshold: new(math.NaN())}).Validate()
	for _, want := range []string{"TopK", "BatchSize", "ScoreThreshold"} {
		require.ErrorContains(t, err, want)
	}
}

func TestStore_WithoutEmbedder(t *testing.T) {
	e := newEngine(vector.Settings{})
	_, err := e.Store(t.Context(), []*schema.Document{{Content: "a"}})
	require.ErrorContains(t, err, "there is no embedder")
	_, err = e.Retrieve(t.Context(), "a")
	require.ErrorContains(t, err, "there is no embedder")
}

// forgetful makes one vector too few.
type forgetful struct{}

func (forgetful) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	return make([][]float64, len(texts)-1), nil
}

func TestStore_EmbedderWithTooFewVectors(t *testing.T) {
	e := newEngine(vector.Settings{Embedding: forgetful{}})
	_, err := e.Store(t.Context(), []*schema.Document{{Content: "a"}, {Content: "b"}})
	require.ErrorContains(t, err, "the embedder made 1 vectors of 2 texts")
	_, err = e.Retrieve(t.Context(), "a")
	require.ErrorContains(t, err, "the embedder made 0 vectors of 1 texts")
}

func TestRetrieve_DefaultTopK(t *testing.T) {
	e := newEngine(vector.Settings{Embedding: vectortest.NewEmbedder(3)})
	_, err := e.Store(t.Context(), make20())
	require.NoError(t, err)
	docs, err := e.Retrieve(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, docs, vector.DefaultTopK)
}

func make20() []*schema.Document {
	docs := make([]*schema.Document, 20)
	for i := range docs {
		docs[i] = &schema.Document{Content: string(rune('a' + i))}
	}
	return docs
}

func TestFilter_ComparesNumbersExactly(t *testing.T) {
	filter, err := vector.ParseFilter(map[string]any{"n": int64(1)<<53 + 1})
	require.NoError(t, err)
	require.True(t, filter.Match(map[string]any{"n": int64(1)<<53 + 1}))
	require.False(t, filter.Match(map[string]any{"n": int64(1) << 53}))
	require.False(t, filter.Match(map[string]any{"n": float64(1 << 53)}))
	require.False(t, filter.Match(map[string]any{"n": "9007199254740993"}))

	filter, err = vector.ParseFilter(map[string]any{"n": map[string]any{"$gt": uint64(math.MaxUint64 - 1)}})
	require.NoError(t, err)
	require.True(t, filter.Match(map[string]any{"n": uint64(math.MaxUint64)}))
	require.False(t, filter.Match(map[string]any{"n": math.Inf(-1)}))
}

func TestTop_KeepsTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		count, limit := random.IntN(50), random.IntN(10)
		var all []vector.Scored[int]
		top := vector.NewTop[int](limit)
		for key := range count {
			s := vector.Scored[int]{Key: key, Score: float64(random.IntN(8))}
			all = append(all, s)
			top.Offer(s.Key, s.Score)
		}
		sortScored(all)
		best := slices.Clone(top.Best())
		sortScored(best)
		require.Equal(t, len(best), min(limit, count))
		for i := range best {
			require.Equal(t, all[i], best[i])
		}
	}
}

func sortScored(all []vector.Scored[int]) {
	slices.SortFunc(all, func(a, b vector.Scored[int]) int {
		if a.Score != b.Score {
			return int(b.Score - a.Score)
		}
		return a.Key - b.Key
	})
}

func TestDot_AnyLength(t *testing.T) {
	for n := range 12 {
		a, b, want := make([]float32, n), make([]float32, n), 0.0
		for i := range n {
			a[i], b[i] = float32(i+1), float32(2*i-3)
			want += float64(a[i] * b[i])
		}
		require.Equal(t, want, vector.Dot(a, vector.AppendVector(nil, b)))
	}
}

func BenchmarkDot768(b *testing.B) {
	a := make([]float32, 768)
	blob := vector.AppendVector(nil, a)
	for b.Loop() {
		vector.Dot(a, blob)
	}
}
