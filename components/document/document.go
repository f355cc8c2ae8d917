// Package document declares what loads documents and what transforms them (splits, filters, ranks). What a loaded file
// means is up to a parser; see package parser.
package document

import (
	"context"

	"github.com/weftgo/weft/schema"
)

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod mockgen -destination=../../internal/mock/components/document/document.go -package=document . Loader,Transformer

// Source says where a document is.
type Source struct {
	// URI is a path or URL that the loader understands.
	URI string
}

// Loader reads documents. Implementations must be safe for concurrent use.
type Loader interface {
	// Load returns the documents found at src; there may be several in one file.
	Load(ctx context.Context, src Source, opts ...LoaderOption) ([]*schema.Document, error)
}

// Transformer makes documents of documents. Implementations must be safe for concurrent use.
type Transformer interface {
	// Transform returns the new documents. Metadata of a document should be kept in what is made of it.
	Transform(ctx context.Context, src []*schema.Document, opts ...TransformerOption) ([]*schema.Document, error)
}
