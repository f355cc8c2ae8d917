// Package parent is a retriever that searches parts of documents and returns the whole ones: what is found by another
// retriever names its document in its metadata, and that is fetched by a function. Package flow/indexer/parent stores
// documents so that they can be found this way.
package parent

import (
	"context"
	"errors"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// Config configures the retriever. Retriever and OrigDocGetter must be set.
type Config struct {
	// Retriever finds the parts. It gets the options of the call.
	Retriever retriever.Retriever
	// ParentIDKey is the metadata key under which a part has the ID of its document, a string. Parts without it are
	// dropped.
	ParentIDKey string
	// OrigDocGetter returns the documents with the given IDs: each once, in the order of the best part. It is called
	// also when there are none.
	OrigDocGetter func(ctx context.Context, ids []string) ([]*schema.Document, error)
}

// NewRetriever makes the retriever. It is safe for concurrent use.
func NewRetriever(ctx context.Context, config *Config) (retriever.Retriever, error) {
	if config == nil {
		return nil, errors.New("parent retriever: the config is nil")
	}
	if config.Retriever == nil {
		return nil, errors.New("retriever is required")
	}
	if config.OrigDocGetter == nil {
		return nil, errors.New("orig doc getter is required")
	}
	return &parentRetriever{conf: *config}, nil
}

type parentRetriever struct{ conf Config }

func (p *parentRetriever) Retrieve(
	ctx context.Context, query string, opts ...retriever.Option,
) (docs []*schema.Document, err error) {
	defer safe.Recover(&err)
	parts, err := p.conf.Retriever.Retrieve(ctx, query, opts...)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(parts))
	seen := make(map[string]bool, len(parts))
	for _, part := range parts {
		if part == nil {
			continue
		}
		if id, ok := part.MetaData[p.conf.ParentIDKey].(string); ok && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return p.conf.OrigDocGetter(ctx, ids)
}
