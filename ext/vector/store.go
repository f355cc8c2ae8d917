package vector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/schema"
)

// subIndexesKey is the metadata key of schema.Document.WithSubIndexes.
const subIndexesKey = "_sub_indexes"

// notStored are metadata keys of values that belong to a search, or that the store keeps elsewhere.
var notStored = []string{"_score", "_dsl", "_dense_vector"}

// Store stores the documents and returns their IDs, in order. A document without an ID gets a new one; the document
// itself is not changed. Stored documents with the same IDs are replaced; of several in one call the last one counts.
//
// All documents are checked before the first is embedded. Then they are embedded and stored batch by batch, and a batch
// is stored as a whole or not at all. With an error come the IDs of the documents in the batches before it, which are
// stored. A document that has a dense vector (schema.Document.WithDenseVector) is not embedded.
//
// indexer.WithSubIndexes adds to the sub-indexes that the documents have themselves.
func (e *Engine) Store(ctx context.Context, docs []*schema.Document, opts ...indexer.Option) (ids []string, err error) {
	o := indexer.GetCommonOptions(&indexer.Options{Index: &e.settings.Index, Embedding: e.settings.Embedding}, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, e.GetType(), components.ComponentOfIndexer)
	ctx = callbacks.OnStart(ctx, &indexer.CallbackInput{Docs: docs, Extra: map[string]any{"index": *o.Index}})
	ids, err = e.store(ctx, docs, o)
	if err != nil {
		err = fmt.Errorf("%s: storing into index %q: %w", e.settings.Name, *o.Index, err)
		callbacks.OnError(ctx, err)
		return ids, err
	}
	callbacks.OnEnd(ctx, &indexer.CallbackOutput{IDs: ids})
	return ids, nil
}

func (e *Engine) store(ctx context.Context, docs []*schema.Document, o *indexer.Options) ([]string, error) {
	pending := make([]pendingRecord, len(docs))
	for i, doc := range docs {
		if err := pending[i].read(doc, o.SubIndexes); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
	}
	ids := make([]string, 0, len(docs))
	for batch := range slices.Chunk(pending, e.settings.BatchSize) {
		records, err := embedBatch(ctx, o.Embedding, batch, len(ids))
		if err == nil {
			err = e.backend.Upsert(ctx, *o.Index, records)
		}
		if err != nil {
			return ids, fmt.Errorf("documents %d to %d (%d are stored): %w", len(ids), len(ids)+len(batch)-1, len(ids), err)
		}
		for i := range batch {
			ids = append(ids, batch[i].ID)
		}
	}
	return ids, nil
}

// A pendingRecord is a record on its way into the store. It has no Vector before it was embedded; given is the vector
// that came with the document, if any.
type pendingRecord struct {
	Record
	given []float64
}

func (p *pendingRecord) read(doc *schema.Document, subIndexes []string) error {
	if doc == nil {
		return fmt.Errorf("it is nil")
	}
	p.ID, p.Content, p.given = doc.ID, doc.Content, doc.DenseVector()
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	switch {
	case !utf8.ValidString(p.ID):
		return fmt.Errorf("the ID %q is not valid UTF-8", p.ID)
	case !utf8.ValidString(p.Content):
		return fmt.Errorf("the content of %q is not valid UTF-8: decode it before it is stored", p.ID)
	case p.Content == "" && p.given == nil:
		return fmt.Errorf("%q has no content, so there is nothing to embed: leave it out, or set a dense vector", p.ID)
	}
	return p.readMetaData(doc, subIndexes)
}

func (p *pendingRecord) readMetaData(doc *schema.Document, subIndexes []string) (err error) {
	fields := maps.Clone(doc.MetaData)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, key := range notStored {
		delete(fields, key)
	}
	if all := union(doc.SubIndexes(), subIndexes); len(all) > 0 {
		fields[subIndexesKey] = all
	}
	if p.MetaData, err = json.Marshal(fields); err != nil {
		return fmt.Errorf("the metadata of %q cannot be written as JSON: %w", p.ID, err)
	}
	p.Fields, err = DecodeMetaData(p.MetaData)
	return err
}

// union returns what is in a or b, once each.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// embedBatch makes the records of a batch, the last one of those that have the same ID. first is the position of the
// batch within the call.
func embedBatch(ctx context.Context, emb embedding.Embedder, batch []pendingRecord, first int) ([]Record, error) {
	var texts []string
	for i := range batch {
		if batch[i].given == nil {
			texts = append(texts, batch[i].Content)
		}
	}
	vectors, err := embed(ctx, emb, texts)
	if err != nil {
		return nil, err
	}
	records, last := make([]Record, 0, len(batch)), make(map[string]int, len(batch))
	for i := range batch {
		p := &batch[i]
		vector := p.given
		if vector == nil {
			vector, vectors = vectors[0], vectors[1:]
		}
		if p.Vector, err = unit(vector); err != nil {
			return nil, fmt.Errorf("document %d (%q): %w", first+i, p.ID, err)
		}
		if at, twice := last[p.ID]; twice {
			records[at] = p.Record
			continue
		}
		last[p.ID] = len(records)
		records = append(records, p.Record)
	}
	return records, sameDimension(records)
}

// DecodeMetaData reads a JSON object. Whole numbers become int64, or uint64 if they are too large, and others float64.
func DecodeMetaData(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("metadata is no JSON object: %w", err)
	}
	for key, v := range fields {
		fields[key] = plainNumbers(v)
	}
	return fields, nil
}

// plainNumbers replaces every json.Number in v.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	}
	return v
}
