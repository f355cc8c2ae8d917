package vectortest

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/weftgo/weft/components/embedding"
)

// An Embedder makes a vector of a text by chance, but always the same one, or the vector that was set for it. It keeps
// what it was asked for. It is safe for concurrent use.
type Embedder struct {
	dimensions int

	// mu guards vectors, failures and calls.
	mu       sync.Mutex
	vectors  map[string][]float64
	failures map[string]error
	calls    [][]string
}

var _ embedding.Embedder = (*Embedder)(nil)

// NewEmbedder makes an embedder whose vectors have so many dimensions.
func NewEmbedder(dimensions int) *Embedder {
	return &Embedder{dimensions: dimensions, vectors: map[string][]float64{}, failures: map[string]error{}}
}

// Set sets the vector of a text.
func (e *Embedder) Set(text string, vector ...float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vectors[text] = vector
}

// Fail makes calls with this text fail.
func (e *Embedder) Fail(text string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures[text] = err
}

// Calls returns the texts of each call so far.
func (e *Embedder) Calls() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// EmbedStrings implements embedding.Embedder.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, slices.Clone(texts))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		if err := e.failures[text]; err != nil {
			return nil, err
		}
		vectors[i] = e.vectorOf(text)
	}
	return vectors, nil
}

// vectorOf must be called with mu held.
func (e *Embedder) vectorOf(text string) []float64 {
	if vector, ok := e.vectors[text]; ok {
		return slices.Clone(vector)
	}
	hash := fnv.New64a()
	hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	vector := make([]float64, e.dimensions)
	for i := range vector {
		vector[i] = random.NormFloat64()
	}
	return vector
}
