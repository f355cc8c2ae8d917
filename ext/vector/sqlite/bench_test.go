package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

// BenchmarkRetrieve searches 100,000 documents with vectors of 768 dimensions, or 5,000 with -short.
func BenchmarkRetrieve(b *testing.B) {
	count := 100_000
	if testing.Short() {
		count = 5_000
	}
	path, embedder := filepath.Join(b.TempDir(), "a.db"), vectortest.NewEmbedder(768)
	store, err := Open(b.Context(), &Config{Path: path, Embedding: embedder, BatchSize: 1000, Hybrid: true})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	fill(b, store, count)
	plain, err := Open(b.Context(), &Config{Path: path, Embedding: embedder})
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	for _, c := range []struct {
		name  string
		store *Store
		opts  []retriever.Option
	}{
		{"vector", plain, nil},
		{"filtered", plain, []retriever.Option{retriever.WithDSLInfo(map[string]any{"year": 1})}},
		{"hybrid", store, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if docs, err := c.store.Retrieve(b.Context(), "word 7", c.opts...); err != nil || len(docs) != 5 {
					b.Fatal(len(docs), err)
				}
			}
		})
	}
}

func fill(b *testing.B, store *Store, count int) {
	random := rand.New(rand.NewPCG(1, 1))
	docs := make([]*schema.Document, 0, 1000)
	for i := range count {
		vector := make([]float64, 768)
		for d := range vector {
			vector[d] = random.NormFloat64()
		}
		doc := &schema.Document{ID: fmt.Sprint(i), Content: fmt.Sprintf("text %d with word %d", i, random.IntN(1000)),
			MetaData: map[string]any{"year": i % 10}}
		docs = append(docs, doc.WithDenseVector(vector))
		if len(docs) == cap(docs) || i == count-1 {
			if _, err := store.Store(b.Context(), docs); err != nil {
				b.Fatal(err)
			}
			docs = docs[:0]
		}
	}
}
