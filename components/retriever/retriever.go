// Package retriever declares what finds documents for a query.
package retriever

import (
	"context"

	"github.com/weftgo/weft/schema"
)

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod mockgen -destination=../../internal/mock/components/retriever/retriever.go -package=retriever . Retriever

// Retriever finds documents. Implementations must be safe for concurrent use.
type Retriever interface {
	// Retrieve returns the documents that fit the query, the best first.
	Retrieve(ctx context.Context, query string, opts ...Option) ([]*schema.Document, error)
}
