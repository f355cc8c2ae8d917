// Package vectortest tests vector stores: [Run] checks what package vector promises of all of them.
package vectortest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/schema"
)

// A Store is what [Run] tests.
type Store interface {
	indexer.Indexer
	retriever.Retriever
	Delete(ctx context.Context, ids []string, opts ...indexer.Option) error
	GetType() string
	IsCallbacksEnabled() bool
}

// A Factory makes a store without documents. Of the settings Embedding, TopK, ScoreThreshold and BatchSize count. The
// store must search exactly, and may create the indexes that it is asked for.
type Factory func(t *testing.T, settings vector.Settings) Store

// Filterable are the metadata keys on which [Run] filters, for stores that must know them before.
var Filterable = []string{"kind", "year", "tags", "open", hostileKey}

// hostileKey is a metadata key with everything that a query language might take for its own.
const hostileKey = `it's "a".b[0]->$c--\`

// Run tests the stores that the factory makes.
func Run(t *testing.T, factory Factory) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"documents come back as they were stored", testRoundTrip},
		{"documents without ID get one", testGeneratedIDs},
		{"documents with a known ID are replaced", testUpsert},
		{"odd texts are only texts", testHostileTexts},
		{"a long document", testLongDocument},
		{"deleted documents are not found", testDelete},
		{"documents are embedded in batches", testBatches},
		{"a batch is stored as a whole or not at all", testFailedBatch},
		{"bad documents are refused before anything is embedded", testBadDocuments},
		{"bad vectors are refused", testBadVectors},
		{"vectors of another dimension are refused", testDimension},
		{"a vector that comes with the document is used", testDenseVector},
		{"without documents nothing is done", testEmptyInput},
		{"an empty index has no documents", testEmptyIndex},
		{"limits", testLimits},
		{"indexes and sub-indexes are apart", testIndexes},
		{"filters", testFilters},
		{"the same documents in the same order as by comparing all", testOracle},
		{"concurrent use", testConcurrency},
		{"a cancelled call", testCancel},
		{"callbacks fire once a call", testCallbacks},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, factory) })
	}
}

// fixture is a store with its embedder.
type fixture struct {
	Store
	embedder *Embedder
}

func newFixture(t *testing.T, factory Factory, settings vector.Settings) *fixture {
	t.Helper()
	embedder := NewEmbedder(4)
	settings.Embedding = embedder
	return &fixture{Store: factory(t, settings), embedder: embedder}
}

func (f *fixture) store(t *testing.T, docs ...*schema.Document) []string {
	t.Helper()
	ids, err := f.Store.Store(t.Context(), docs)
	require.NoError(t, err)
	require.Len(t, ids, len(docs))
	return ids
}

func (f *fixture) retrieve(t *testing.T, query string, opts ...retriever.Option) []*schema.Document {
	t.Helper()
	docs, err := f.Retrieve(t.Context(), query, opts...)
	require.NoError(t, err)
	return docs
}

// all returns the IDs of the documents that a call can find, sorted.
func (f *fixture) all(t *testing.T, opts ...retriever.Option) []string {
	t.Helper()
	ids := idsOf(f.retrieve(t, "anything", slices.Concat([]retriever.Option{retriever.WithTopK(1000)}, opts)...))
	slices.Sort(ids)
	return ids
}

func idsOf(docs []*schema.Document) []string {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	return ids
}

func doc(id, content string) *schema.Document { return &schema.Document{ID: id, Content: content} }

// numbered makes documents with the given contents, and these as IDs.
func numbered(contents ...string) []*schema.Document {
	docs := make([]*schema.Document, len(contents))
	for i, content := range contents {
		docs[i] = doc(content, content)
	}
	return docs
}
