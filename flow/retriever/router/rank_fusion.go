package router

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/weftgo/weft/schema"
)

// rankConstant dampens the lead of the first ranks.
const rankConstant = 60

// ranked is a document with its ranks in all lists.
type ranked struct {
	doc   *schema.Document
	ranks []int
	score float64
	// list and rank are where it came first, by the order of the lists' names.
	list, rank int
}

// rrf is reciprocal rank fusion: the score of a document is the sum of 1/(60 + rank) over the lists it is in, the
// first rank being 0. Documents are identified by ID; a list that has one twice counts its better rank. Equal scores
// are ordered by the name of the list, the rank in it, and the ID.
var rrf = func(_ context.Context, results map[string][]*schema.Document) ([]*schema.Document, error) {
	switch len(results) {
	case 0:
		return nil, errors.New("no documents")
	case 1:
		for _, docs := range results {
			return docs, nil
		}
	}
	docs := rankDocuments(results)
	slices.SortFunc(docs, func(a, b *ranked) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score),
			cmp.Compare(a.list, b.list),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.doc.ID, b.doc.ID),
		)
	})
	fused := make([]*schema.Document, len(docs))
	for i, d := range docs {
		fused[i] = d.doc
	}
	return fused, nil
}

func rankDocuments(results map[string][]*schema.Document) []*ranked {
	var docs []*ranked
	byID := map[string]*ranked{}
	for list, name := range slices.Sorted(maps.Keys(results)) {
		inList := make(map[string]bool, len(results[name]))
		for rank, doc := range results[name] {
			if doc == nil || inList[doc.ID] {
				continue
			}
			inList[doc.ID] = true
			d := byID[doc.ID]
			if d == nil {
				d = &ranked{doc: doc, list: list, rank: rank}
				byID[doc.ID] = d
				docs = append(docs, d)
			}
			d.ranks = append(d.ranks, rank)
		}
	}
	for _, d := range docs {
		slices.Sort(d.ranks) // sums of the same ranks must be the same numbers
		for _, rank := range d.ranks {
			d.score += 1 / float64(rank+rankConstant)
		}
	}
	return docs
}
