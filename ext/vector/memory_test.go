package vector_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
)

// memory is the plainest backend there can be.
type memory struct {
	// mu guards indexes.
	mu      sync.Mutex
	indexes map[string]map[string]vector.Record
}

func (m *memory) check(index string, got int) error {
	for _, r := range m.indexes[index] {
		if len(r.Vector) != got {
			return &vector.DimensionError{Index: index, Want: len(r.Vector), Got: got}
		}
	}
	return nil
}

func (m *memory) Upsert(ctx context.Context, index string, records []vector.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.check(index, len(records[0].Vector)); err != nil {
		return err
	}
	if m.indexes[index] == nil {
		m.indexes[index] = map[string]vector.Record{}
	}
	for _, r := range records {
		m.indexes[index][r.ID] = r
	}
	return nil
}

func (m *memory) Search(ctx context.Context, q *vector.Query) ([]vector.Match, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.check(q.Index, len(q.Vector)); err != nil {
		return nil, err
	}
	top := vector.NewTop[string](q.Limit)
	for id, r := range m.indexes[q.Index] {
		if q.Filter.Match(r.Fields) {
			top.Offer(id, vector.Dot(q.Vector, vector.AppendVector(nil, r.Vector)))
		}
	}
	var matches []vector.Match
	for _, s := range slices.Backward(top.Best()) {
		r := m.indexes[q.Index][s.Key]
		matches = append(matches, vector.Match{ID: r.ID, Content: r.Content, MetaData: r.MetaData, Score: s.Score})
	}
	return matches, nil
}

func (m *memory) Delete(ctx context.Context, index string, ids []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if ctx.Err() == nil {
			delete(m.indexes[index], id)
		}
	}
	return ctx.Err()
}

func TestEngine(t *testing.T) {
	vectortest.Run(t, func(_ *testing.T, s vector.Settings) vectortest.Store {
		s.Name, s.Type, s.Index = "memory", "Memory", "documents"
		return vector.New(&memory{indexes: map[string]map[string]vector.Record{}}, s)
	})
}
