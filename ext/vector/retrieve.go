package vector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
)

// Retrieve returns the documents that are nearest to the query, the best first, each with its score. An index in which
// nothing was stored has none. The options of package retriever count: WithIndex and WithSubIndex say where to look,
// WithTopK and WithScoreThreshold how much to return, WithEmbedding what makes the vector of the query, and WithDSLInfo
// what the metadata must fulfil (see [ParseFilter]).
func (e *Engine) Retrieve(
	ctx context.Context, query string, opts ...retriever.Option,
) (docs []*schema.Document, err error) {
	o := retriever.GetCommonOptions(&retriever.Options{
		Index: &e.settings.Index, TopK: &e.settings.TopK,
		ScoreThreshold: e.settings.ScoreThreshold, Embedding: e.settings.Embedding,
	}, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, e.GetType(), components.ComponentOfRetriever)
	ctx = callbacks.OnStart(ctx, callbackInput(query, o))
	docs, err = e.retrieve(ctx, query, o)
	if err != nil {
		err = fmt.Errorf("%s: searching index %q: %w", e.settings.Name, *o.Index, err)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
	return docs, nil
}

func callbackInput(query string, o *retriever.Options) *retriever.CallbackInput {
	in := &retriever.CallbackInput{
		Query: query, TopK: *o.TopK, ScoreThreshold: o.ScoreThreshold, Extra: map[string]any{"index": *o.Index},
	}
	if o.SubIndex != nil {
		in.Extra["sub_index"] = *o.SubIndex
	}
	if len(o.DSLInfo) > 0 {
		filter, _ := json.Marshal(o.DSLInfo) // what is no JSON is refused in a moment
		in.Filter = string(filter)
	}
	return in
}

func (e *Engine) retrieve(ctx context.Context, query string, o *retriever.Options) ([]*schema.Document, error) {
	q, err := newQuery(query, o)
	if err != nil {
		return nil, err
	}
	vectors, err := embed(ctx, o.Embedding, []string{query})
	if err != nil {
		return nil, err
	}
	if q.Vector, err = unit(vectors[0]); err != nil {
		return nil, fmt.Errorf("the query: %w", err)
	}
	matches, err := e.backend.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	return documents(best(matches, q.Limit, o.ScoreThreshold))
}

// newQuery checks what a call asks for. The query has no vector yet.
func newQuery(text string, o *retriever.Options) (*Query, error) {
	switch {
	case text == "":
		return nil, errors.New("the query is empty")
	case *o.TopK <= 0:
		return nil, fmt.Errorf("TopK is %d: it must be positive", *o.TopK)
	case o.ScoreThreshold != nil && math.IsNaN(*o.ScoreThreshold):
		return nil, errors.New("the score threshold is not a number")
	}
	filter, err := ParseFilter(o.DSLInfo)
	if err != nil {
		return nil, err
	}
	if o.SubIndex != nil {
		filter = append(filter, Condition{Key: subIndexesKey, Op: AnyOf, Values: []any{*o.SubIndex}})
	}
	return &Query{Index: *o.Index, Text: text, Limit: *o.TopK, Filter: filter}, nil
}

// best sorts the matches, the best first and equal ones by ID, and leaves out what is too many or not good enough.
func best(matches []Match, limit int, threshold *float64) []Match {
	slices.SortFunc(matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	matches = matches[:min(limit, len(matches))]
	if threshold == nil {
		return matches
	}
	return slices.DeleteFunc(matches, func(m Match) bool { return m.Score < *threshold })
}

func documents(matches []Match) ([]*schema.Document, error) {
	docs := make([]*schema.Document, len(matches))
	for i, m := range matches {
		fields, err := DecodeMetaData(m.MetaData)
		if err != nil {
			return nil, fmt.Errorf("document %q: %w", m.ID, err)
		}
		doc := &schema.Document{ID: m.ID, Content: m.Content, MetaData: fields}
		if subIndexes := doc.SubIndexes(); subIndexes != nil {
			doc.WithSubIndexes(subIndexes)
		}
		docs[i] = doc.WithScore(m.Score)
	}
	return docs, nil
}
