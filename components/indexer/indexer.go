// Package indexer declares what stores documents so that a retriever finds them.
package indexer

import (
	"context"

	"github.com/weftgo/weft/schema"
)

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod mockgen -destination=../../internal/mock/components/indexer/indexer.go -package=indexer . Indexer

// Indexer stores documents. Implementations must be safe for concurrent use.
type Indexer interface {
	// Store stores the documents and returns their ids, in order.
	Store(ctx context.Context, docs []*schema.Document, opts ...Option) (ids []string, err error)
}
