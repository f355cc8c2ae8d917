package schema

import (
	"strconv"

	"github.com/weftgo/weft/internal/json"
)

// Document is a piece of text with metadata: what loaders load, transformers split, indexers store and retrievers
// find.
//
// Well-known metadata has a setter and a getter each. Setters keep the value itself, not a copy, and return the
// document, so that they can be chained; they are not safe for concurrent use. Getters return the zero value for what
// is not there. They also understand what a value becomes on its way through JSON ([]any for a slice, float64 or
// json.Number for a number, map[string]any for a map).
type Document struct {
	// ID is unique within the store the document belongs to.
	ID string `json:"id"`
	// Content is the text.
	Content string `json:"content"`
	// MetaData holds the well-known values under keys beginning with an underscore, and anything else.
	MetaData map[string]any `json:"meta_data"`
}

// The keys of well-known metadata.
const (
	metaSubIndexes   = "_sub_indexes"
	metaScore        = "_score"
	metaExtraInfo    = "_extra_info"
	metaDSL          = "_dsl"
	metaDenseVector  = "_dense_vector"
	metaSparseVector = "_sparse_vector"
)

// String returns the content.
func (d *Document) String() string {
	if d == nil {
		return ""
	}
	return d.Content
}

func (d *Document) set(key string, v any) *Document {
	if d.MetaData == nil {
		d.MetaData = map[string]any{}
	}
	d.MetaData[key] = v
	return d
}

func (d *Document) get(key string) any {
	if d == nil {
		return nil
	}
	return d.MetaData[key]
}

// WithSubIndexes sets the sub-indexes of the store in which the document is, or should be, found.
func (d *Document) WithSubIndexes(indexes []string) *Document { return d.set(metaSubIndexes, indexes) }

// SubIndexes returns what WithSubIndexes set.
func (d *Document) SubIndexes() []string {
	return listOf(d.get(metaSubIndexes), func(v any) (string, bool) {
		s, ok := v.(string)
		return s, ok
	})
}

// WithScore sets how relevant the document is to a query.
func (d *Document) WithScore(score float64) *Document { return d.set(metaScore, score) }

// Score returns what WithScore set.
func (d *Document) Score() float64 {
	score, _ := numberOf(d.get(metaScore))
	return score
}

// WithExtraInfo sets a text that goes with the document.
func (d *Document) WithExtraInfo(extraInfo string) *Document { return d.set(metaExtraInfo, extraInfo) }

// ExtraInfo returns what WithExtraInfo set.
func (d *Document) ExtraInfo() string {
	info, _ := d.get(metaExtraInfo).(string)
	return info
}

// WithDSLInfo sets a query in the language of a store.
func (d *Document) WithDSLInfo(dslInfo map[string]any) *Document { return d.set(metaDSL, dslInfo) }

// DSLInfo returns what WithDSLInfo set.
func (d *Document) DSLInfo() map[string]any {
	info, _ := d.get(metaDSL).(map[string]any)
	return info
}

// WithDenseVector sets the embedding of the document.
func (d *Document) WithDenseVector(vector []float64) *Document {
	return d.set(metaDenseVector, vector)
}

// DenseVector returns what WithDenseVector set.
func (d *Document) DenseVector() []float64 { return listOf(d.get(metaDenseVector), numberOf) }

// WithSparseVector sets the sparse embedding of the document: weights by dimension.
func (d *Document) WithSparseVector(sparse map[int]float64) *Document {
	return d.set(metaSparseVector, sparse)
}

// SparseVector returns what WithSparseVector set.
func (d *Document) SparseVector() map[int]float64 {
	switch sparse := d.get(metaSparseVector).(type) {
	case map[int]float64:
		return sparse
	case map[string]any:
		vector := make(map[int]float64, len(sparse))
		for key, v := range sparse {
			dimension, err := strconv.Atoi(key)
			weight, ok := numberOf(v)
			if err != nil || !ok {
				return nil
			}
			vector[dimension] = weight
		}
		return vector
	}
	return nil
}

// listOf returns v if it is a list of T, or a list of anything that element understands, and nil otherwise.
func listOf[T any](v any, element func(any) (T, bool)) []T {
	switch list := v.(type) {
	case []T:
		return list
	case []any:
		elements := make([]T, len(list))
		for i := range list {
			e, ok := element(list[i])
			if !ok {
				return nil
			}
			elements[i] = e
		}
		return elements
	}
	return nil
}

// numberOf returns v as a float64, if it is a number.
func numberOf(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case float32:
		return float64(n), true
	case int:
		return float64(n), true
	case int32:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint32:
		return float64(n), true
	case uint64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}
