// Package parent is an indexer that stores documents in parts: a transformer splits them, every part gets an ID of its
// own and the ID of its document in its metadata, and another indexer stores the parts. Package flow/retriever/parent
// finds the documents by their parts.
package parent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// Config configures the indexer. All but ParentIDKey must be set.
type Config struct {
	// Indexer stores the parts. It gets the options of the call.
	Indexer indexer.Indexer
	// Transformer splits the documents. A part must keep the ID of its document.
	Transformer document.Transformer
	// ParentIDKey is the metadata key under which a part gets the ID of its document.
	ParentIDKey string
	// SubIDGenerator returns num IDs for the parts of a document, in their order. It is called once for every document
	// of a call.
	SubIDGenerator func(ctx context.Context, parentID string, num int) ([]string, error)
}

// NewIndexer makes the indexer. It is safe for concurrent use. Store returns the IDs that the inner indexer returned: the
// IDs of the parts.
func NewIndexer(ctx context.Context, config *Config) (indexer.Indexer, error) {
	if config == nil {
		return nil, errors.New("parent indexer: the config is nil")
	}
	if config.Indexer == nil {
		return nil, errors.New("indexer is empty")
	}
	if config.Transformer == nil {
		return nil, errors.New("transformer is empty")
	}
	if config.SubIDGenerator == nil {
		return nil, errors.New("sub id generator is empty")
	}
	return &parentIndexer{conf: *config}, nil
}

type parentIndexer struct{ conf Config }

func (p *parentIndexer) Store(
	ctx context.Context, docs []*schema.Document, opts ...indexer.Option,
) (ids []string, err error) {
	defer safe.Recover(&err)
	split, err := p.conf.Transformer.Transform(ctx, docs)
	if err != nil {
		return nil, fmt.Errorf("transform docs fail: %w", err)
	}
	parts := p.linked(split)
	if len(parts) == 0 {
		return nil, errors.New("doc transformer returned no documents")
	}
	if err := p.rename(ctx, parts); err != nil {
		return nil, err
	}
	return p.conf.Indexer.Store(ctx, parts, opts...)
}

// linked copies the parts, which belong to the transformer, and puts the IDs of their documents into the copies.
func (p *parentIndexer) linked(split []*schema.Document) []*schema.Document {
	parts := make([]*schema.Document, 0, len(split))
	for _, doc := range split {
		if doc == nil {
			continue
		}
		part := *doc
		part.MetaData = maps.Clone(doc.MetaData)
		if part.MetaData == nil {
			part.MetaData = map[string]any{}
		}
		part.MetaData[p.conf.ParentIDKey] = doc.ID
		parts = append(parts, &part)
	}
	return parts
}

// rename gives every part an ID of its own. The parts of a document need not be next to each other.
func (p *parentIndexer) rename(ctx context.Context, parts []*schema.Document) error {
	var parents []string
	byParent := map[string][]*schema.Document{}
	for _, part := range parts {
		if byParent[part.ID] == nil {
			parents = append(parents, part.ID)
		}
		byParent[part.ID] = append(byParent[part.ID], part)
	}
	for _, parent := range parents {
		siblings := byParent[parent]
		ids, err := p.conf.SubIDGenerator(ctx, parent, len(siblings))
		if err != nil {
			return err
		}
		if len(ids) != len(siblings) {
			return errors.New("generated sub IDs' num is unexpected")
		}
		for i, part := range siblings {
			part.ID = ids[i]
		}
	}
	return nil
}
