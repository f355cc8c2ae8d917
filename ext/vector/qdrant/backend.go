package qdrant

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/google/uuid"

	"github.com/weftgo/weft/ext/vector"
)

// backend implements vector.Backend.
type backend struct {
	client        *client
	create, exact bool
}

// A point is a document as Qdrant keeps it.
type point struct {
	ID      string    `json:"id"`
	Vector  []float32 `json:"vector"`
	Payload payload   `json:"payload"`
}

type payload struct {
	ID       string          `json:"id"`
	Content  string          `json:"content"`
	MetaData json.RawMessage `json:"metadata"`
	Encoded  map[string]any  `json:"encoded,omitempty"` // see address
}

// documentSpace is the name space of the IDs of points.
var documentSpace = uuid.MustParse("6d0f7b8e-3f0a-4c7e-9a54-0d9b8f6a2c11")

// pointID returns the ID of the point of a document. Qdrant takes UUIDs and numbers only; the document's own ID is in
// the payload.
func pointID(id string) string { return uuid.NewSHA1(documentSpace, []byte(id)).String() }

// dimensions returns how many dimensions the vectors of a collection have, and 0 if it is not there.
func (b *backend) dimensions(ctx context.Context, collection string) (int, error) {
	var info struct {
		Config struct {
			Params struct {
				Vectors struct {
					Size     int    `json:"size"`
					Distance string `json:"distance"`
				} `json:"vectors"`
			} `json:"params"`
		} `json:"config"`
	}
	err := b.client.call(ctx, http.MethodGet, collection, "", nil, &info)
	if isStatus(err, http.StatusNotFound) {
		if !b.create {
			return 0, fmt.Errorf("there is no collection %q: create it, or set CreateCollection", collection)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	vectors := info.Config.Params.Vectors
	if vectors.Size <= 0 {
		return 0, fmt.Errorf("collection %q has named vectors: use one with a single vector without a name", collection)
	}
	if vectors.Distance != "Cosine" {
		return 0, fmt.Errorf("collection %q has the distance %q: use one with Cosine", collection, vectors.Distance)
	}
	return vectors.Size, nil
}

func (b *backend) Upsert(ctx context.Context, index string, records []vector.Record) error {
	if err := b.ensureCollection(ctx, index, len(records[0].Vector)); err != nil {
		return err
	}
	points := make([]point, len(records))
	for i := range records {
		r := &records[i]
		points[i] = point{ID: pointID(r.ID), Vector: r.Vector,
			Payload: payload{ID: r.ID, Content: r.Content, MetaData: r.MetaData, Encoded: encoded(r.Fields)}}
	}
	return b.client.call(ctx, http.MethodPut, index, "/points?wait=true", map[string]any{"points": points}, nil)
}

// ensureCollection creates a collection that is not there, and checks the dimension of its vectors.
func (b *backend) ensureCollection(ctx context.Context, collection string, n int) error {
	want, err := b.dimensions(ctx, collection)
	if err == nil && want == 0 {
		want, err = b.createCollection(ctx, collection, n)
	}
	if err == nil && want != n {
		err = &vector.DimensionError{Index: collection, Want: want, Got: n}
	}
	return err
}

// createCollection returns the dimension of the collection, which another process may have created meanwhile.
func (b *backend) createCollection(ctx context.Context, collection string, n int) (int, error) {
	create := map[string]any{"vectors": map[string]any{"size": n, "distance": "Cosine"}}
	err := b.client.call(ctx, http.MethodPut, collection, "", create, nil)
	if err == nil {
		return n, nil
	}
	if isStatus(err, http.StatusConflict) || isStatus(err, http.StatusBadRequest) {
		if there, failed := b.dimensions(ctx, collection); failed == nil && there > 0 {
			return there, nil
		}
	}
	return 0, fmt.Errorf("creating collection %q: %w", collection, err)
}

func (b *backend) Delete(ctx context.Context, index string, ids []string) error {
	if n, err := b.dimensions(ctx, index); err != nil || n == 0 {
		return err
	}
	points := make([]string, len(ids))
	for i, id := range ids {
		points[i] = pointID(id)
	}
	return b.client.call(ctx, http.MethodPost, index, "/points/delete?wait=true", map[string]any{"points": points}, nil)
}

func (b *backend) Search(ctx context.Context, q *vector.Query) ([]vector.Match, error) {
	n, err := b.dimensions(ctx, q.Index)
	if err != nil || n == 0 {
		return nil, err
	}
	if n != len(q.Vector) {
		return nil, &vector.DimensionError{Index: q.Index, Want: n, Got: len(q.Vector)}
	}
	request := map[string]any{"query": q.Vector, "limit": q.Limit, "with_payload": true}
	if filter := filterOf(q.Filter); filter != nil {
		request["filter"] = filter
	}
	if b.exact {
		request["params"] = map[string]any{"exact": true}
	}
	var found struct {
		Points []struct {
			Score   float64  `json:"score"`
			Payload *payload `json:"payload"`
		} `json:"points"`
	}
	if err := b.client.call(ctx, http.MethodPost, q.Index, "/points/query", request, &found); err != nil {
		return nil, err
	}
	matches := make([]vector.Match, len(found.Points))
	for i, p := range found.Points {
		if p.Payload == nil || p.Payload.MetaData == nil {
			return nil, fmt.Errorf("collection %q has a point that was not written by this store", q.Index)
		}
		matches[i] = vector.Match{
			ID: p.Payload.ID, Content: p.Payload.Content, MetaData: p.Payload.MetaData, Score: p.Score,
		}
	}
	return matches, nil
}

// filterOf returns the filter in Qdrant's form, and nil for none.
func filterOf(filter vector.Filter) map[string][]any {
	conditions := map[string][]any{}
	for i := range filter {
		clause := "must"
		if filter[i].Op == vector.NoneOf {
			clause = "must_not"
		}
		conditions[clause] = append(conditions[clause], conditionOf(&filter[i]))
	}
	if len(conditions) == 0 {
		return nil
	}
	return conditions
}

// plainKey are keys that Qdrant's paths into a payload can name as they are.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// address returns the path to a metadata value. Values under keys that a path cannot name are in the payload twice, the
// second time under the key in hexadecimal.
func address(key string) string {
	if plainKey.MatchString(key) {
		return "metadata." + key
	}
	return "encoded." + hex.EncodeToString([]byte(key))
}

// encoded returns the values under keys that a path cannot name.
func encoded(fields map[string]any) map[string]any {
	values := map[string]any{}
	for key, v := range fields {
		if !plainKey.MatchString(key) {
			values[hex.EncodeToString([]byte(key))] = v
		}
	}
	return values
}

var ranges = map[vector.Op]string{
	vector.Less: "lt", vector.AtMost: "lte", vector.Greater: "gt", vector.AtLeast: "gte",
}

// conditionOf takes NoneOf for AnyOf.
func conditionOf(c *vector.Condition) any {
	key := address(c.Key)
	if bound, ok := ranges[c.Op]; ok {
		return map[string]any{"key": key, "range": map[string]any{bound: c.Values[0]}}
	}
	alternatives := make([]any, len(c.Values))
	for i, v := range c.Values {
		switch v.(type) {
		case string, bool, int64:
			alternatives[i] = map[string]any{"key": key, "match": map[string]any{"value": v}}
		default: // of numbers a match takes integers only
			alternatives[i] = map[string]any{"key": key, "range": map[string]any{"gte": v, "lte": v}}
		}
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return map[string]any{"should": alternatives}
}
