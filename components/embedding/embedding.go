// Package embedding declares what an embedding model is.
package embedding

import "context"

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod mockgen -destination=../../internal/mock/components/embedding/embedding.go -package=embedding . Embedder

// Embedder turns texts into vectors. Implementations must be safe for concurrent use.
type Embedder interface {
	// EmbedStrings returns one vector for each text, in order.
	EmbedStrings(ctx context.Context, texts []string, opts ...Option) ([][]float64, error)
}
