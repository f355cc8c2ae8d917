package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/vector"
)

// minBreadth is the number of vectors that a search through the HNSW index holds against each other, if not more are wanted.
const minBreadth = 100

// indexed searches with the search module of the server.
type indexed struct{ *backend }

// Upsert creates the search index before the first document is stored.
func (s indexed) Upsert(ctx context.Context, index string, records []vector.Record) error {
	if err := s.claimDimensions(ctx, index, len(records[0].Vector)); err != nil {
		return err
	}
	err := s.conf.Client.Do(ctx, s.createCommand(index, len(records[0].Vector))...).Err()
	if err != nil && !strings.Contains(strings.ToLower(err.Error()), "already exists") {
		return fmt.Errorf("creating the search index: %w", err)
	}
	return s.write(ctx, index, records)
}

func (s indexed) createCommand(index string, dimensions int) []any {
	command := []any{"FT.CREATE", s.base(index), "ON", "HASH", "PREFIX", 1, s.documentPrefix(index), "SCHEMA",
		s.conf.VectorField, "AS", "embedding", "VECTOR", "HNSW", 6,
		"TYPE", "FLOAT32", "DIM", dimensions, "DISTANCE_METRIC", "COSINE"}
	for _, key := range s.filterKeys() {
		command = append(command,
			tagField(key), "AS", tagName(key), "TAG", numberField(key), "AS", numberName(key), "NUMERIC")
	}
	return command
}

func (s indexed) Search(ctx context.Context, q *vector.Query) ([]vector.Match, error) {
	condition, err := s.condition(q.Filter)
	if err != nil {
		return nil, err
	}
	dimensions, err := s.dimensions(ctx, q.Index)
	if err != nil || dimensions == 0 {
		return nil, err
	}
	if dimensions != len(q.Vector) {
		return nil, &vector.DimensionError{Index: q.Index, Want: dimensions, Got: len(q.Vector)}
	}
	fields := append(s.returned(), fieldDistance)
	command := []any{"FT.SEARCH", s.base(q.Index),
		condition + "=>[KNN $limit @embedding $query EF_RUNTIME $breadth AS " + fieldDistance + "]",
		"PARAMS", 6, "limit", q.Limit, "breadth", max(q.Limit, minBreadth), "query", vector.AppendVector(nil, q.Vector),
		"SORTBY", fieldDistance, "ASC", "LIMIT", 0, q.Limit, "RETURN", len(fields)}
	for _, field := range fields {
		command = append(command, field)
	}
	answer, err := s.conf.Client.Do(ctx, append(command, "DIALECT", s.conf.Dialect)...).Result()
	if err != nil {
		return nil, err
	}
	hashes, err := readAnswer(answer)
	if err != nil {
		return nil, err
	}
	return s.matches(hashes)
}

func (s indexed) matches(hashes []map[string]string) ([]vector.Match, error) {
	matches := make([]vector.Match, 0, len(hashes))
	for _, hash := range hashes {
		if _, there := hash[fieldID]; !there {
			continue // deleted meanwhile
		}
		distance, err := strconv.ParseFloat(hash[fieldDistance], 64)
		if err != nil {
			return nil, fmt.Errorf("the distance of document %q: %w", hash[fieldID], err)
		}
		m, err := s.match(hash, 1-distance)
		if err != nil {
			return nil, err
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// readAnswer reads what FT.SEARCH returns: of a connection with RESP2
//
//	[number, key, [field, value, …], …]
//
// and of one with RESP3
//
//	{results: [{id: key, extra_attributes: {field: value, …}}, …], …}
func readAnswer(answer any) (hashes []map[string]string, err error) {
	switch answer := answer.(type) {
	case []any:
		for i := 2; i < len(answer); i += 2 {
			fields, _ := answer[i].([]any) // nil for a document that is gone
			hash := map[string]string{}
			for f := 0; f+1 < len(fields); f += 2 {
				hash[fmt.Sprint(fields[f])] = fmt.Sprint(fields[f+1])
			}
			hashes = append(hashes, hash)
		}
		return hashes, nil
	case map[any]any:
		results, _ := answer["results"].([]any)
		for _, result := range results {
			entry, _ := result.(map[any]any)
			fields, _ := entry["extra_attributes"].(map[any]any)
			hash := map[string]string{}
			for field, v := range fields {
				hash[fmt.Sprint(field)] = fmt.Sprint(v)
			}
			hashes = append(hashes, hash)
		}
		return hashes, nil
	}
	return nil, fmt.Errorf("the answer of FT.SEARCH is a %T, which is not understood", answer)
}
