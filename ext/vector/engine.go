// Package vector holds what the vector stores of Weft have in common. A store is a [Backend] that keeps records in one
// kind of database, and an [Engine] that makes an indexer.Indexer and a retriever.Retriever of it.
//
// The engine checks documents, generates IDs, embeds in batches, checks and scales vectors, reads filters, applies
// limits, and fires callbacks, so that all stores do these things alike:
//
//   - Store replaces documents that have the ID of a new one. A batch is stored as a whole or not at all.
//   - The score of a document is the cosine of the angle between it and the query, from -1 to 1. Higher is better.
//   - retriever.WithDSLInfo takes a filter on metadata: see [ParseFilter].
//   - Numbers in metadata come back as int64 if they are whole, as uint64 if they are too large for that, and as
//     float64 otherwise. The rest comes back as encoding/json decodes it.
//
// The stores are modules of their own: sqlite, pgvector, redis and qdrant, in the folders below this one. Package
// vectortest has the tests that each of them passes.
package vector

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
)

// Defaults of [Settings].
const (
	DefaultTopK      = 5
	DefaultBatchSize = 64
)

// Settings are the settings that all stores have.
type Settings struct {
	// Name begins the texts of errors, such as "sqlite".
	Name string
	// Type is the result of GetType, such as "SQLite".
	Type string
	// Embedding makes the vectors. A call can bring another one with WithEmbedding.
	Embedding embedding.Embedder
	// Index names the index of the documents, unless a call says WithIndex.
	Index string
	// TopK is the number of documents that Retrieve returns at most. Default [DefaultTopK].
	TopK int
	// ScoreThreshold leaves out documents with a lower score. Nil for none.
	ScoreThreshold *float64
	// BatchSize is the number of documents that are embedded and stored at once. Default [DefaultBatchSize].
	BatchSize int
}

// Validate returns everything that is wrong with the settings. Name and Type are not checked.
func (s *Settings) Validate() error {
	var errs []error
	if s.TopK < 0 {
		errs = append(errs, fmt.Errorf("TopK must not be negative: leave it 0 for %d", DefaultTopK))
	}
	if s.BatchSize < 0 {
		errs = append(errs, fmt.Errorf("BatchSize must not be negative: leave it 0 for %d", DefaultBatchSize))
	}
	if s.ScoreThreshold != nil && math.IsNaN(*s.ScoreThreshold) {
		errs = append(errs, errors.New("ScoreThreshold is not a number"))
	}
	return errors.Join(errs...)
}

// A Record is a document as backends keep it.
type Record struct {
	ID      string
	Content string
	// MetaData is a JSON object.
	MetaData []byte
	// Fields is MetaData decoded: numbers are int64, uint64 or float64. Backends must not change it.
	Fields map[string]any
	// Vector has the length 1.
	Vector []float32
}

// A Query is what backends look for.
type Query struct {
	Index string
	// Text is the question, for backends that look at words, too.
	Text string
	// Vector has the length 1.
	Vector []float32
	// Limit is the number of matches that are wanted at most. It is positive.
	Limit int
	// Filter is the condition on the metadata.
	Filter Filter
}

// A Match is a record that a backend found.
type Match struct {
	ID       string
	Content  string
	MetaData []byte
	Score    float64
}

// A Backend keeps records in a database. Implementations must be safe for concurrent use.
type Backend interface {
	// Upsert stores the records, or none of them. Their IDs differ. Records that have these IDs already are replaced.
	// Vectors of another dimension than those in the index are a [*DimensionError].
	Upsert(ctx context.Context, index string, records []Record) error
	// Search returns the best matches in any order; nothing if the index is empty. A query of another dimension than
	// the vectors in the index is a [*DimensionError].
	Search(ctx context.Context, query *Query) ([]Match, error)
	// Delete removes the records with these IDs, as far as they are there.
	Delete(ctx context.Context, index string, ids []string) error
}

// A DimensionError says that a vector does not fit the vectors of an index. It is mostly the sign of another embedding
// model than the one that the index was filled with.
type DimensionError struct {
	Index     string
	Want, Got int
}

func (e *DimensionError) Error() string {
	return fmt.Sprintf("index %q has vectors of %d dimensions, this one has %d: use the embedding model that the "+
		"index was filled with, or another index", e.Index, e.Want, e.Got)
}

// An Engine makes an indexer and a retriever of a backend. It is safe for concurrent use. It fires its own callbacks.
type Engine struct {
	backend  Backend
	settings Settings
}

var (
	_ indexer.Indexer     = (*Engine)(nil)
	_ retriever.Retriever = (*Engine)(nil)
)

// New makes an engine. The settings must have been validated.
func New(backend Backend, settings Settings) *Engine {
	if settings.TopK == 0 {
		settings.TopK = DefaultTopK
	}
	if settings.BatchSize == 0 {
		settings.BatchSize = DefaultBatchSize
	}
	return &Engine{backend: backend, settings: settings}
}

// GetType returns the kind of the store, such as "SQLite".
func (e *Engine) GetType() string { return e.settings.Type }

// IsCallbacksEnabled returns true.
func (e *Engine) IsCallbacksEnabled() bool { return true }

// Delete removes the documents with these IDs. IDs that are not there are no error. Of the options indexer.WithIndex
// counts.
func (e *Engine) Delete(ctx context.Context, ids []string, opts ...indexer.Option) error {
	if len(ids) == 0 {
		return nil
	}
	o := indexer.GetCommonOptions(&indexer.Options{Index: &e.settings.Index}, opts...)
	if err := e.backend.Delete(ctx, *o.Index, ids); err != nil {
		return fmt.Errorf("%s: deleting from index %q: %w", e.settings.Name, *o.Index, err)
	}
	return nil
}
