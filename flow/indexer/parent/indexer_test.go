package parent

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

type splitter func(docs []*schema.Document) ([]*schema.Document, error)

func (s splitter) Transform(_ context.Context, docs []*schema.Document,
	_ ...document.TransformerOption,
) ([]*schema.Document, error) {
	return s(docs)
}

// halves splits every document in two.
var halves splitter = func(docs []*schema.Document) ([]*schema.Document, error) {
	var parts []*schema.Document
	for _, d := range docs {
		parts = append(parts, &schema.Document{ID: d.ID, Content: d.Content + "/1"},
			&schema.Document{ID: d.ID, Content: d.Content + "/2"})
	}
	return parts, nil
}

// memory is an indexer that keeps the documents.
type memory struct {
	docs  []*schema.Document
	index *string
}

func (m *memory) Store(_ context.Context, docs []*schema.Document, opts ...indexer.Option) ([]string, error) {
	m.docs, m.index = docs, indexer.GetCommonOptions(nil, opts...).Index
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids, nil
}

func numbered(_ context.Context, parent string, num int) ([]string, error) {
	ids := make([]string, num)
	for i := range ids {
		ids[i] = fmt.Sprint(parent, i)
	}
	return ids, nil
}

// Rules components/V11, components/B13.4.2.
func TestParent_RefusesABadConfiguration(t *testing.T) {
	_, err := NewIndexer(background, nil)
	require.ErrorContains(t, err, "config is nil")
	for want, conf := range map[string]*Config{
		"indexer is empty":          {Transformer: halves, SubIDGenerator: numbered},
		"transformer is empty":      {Indexer: &memory{}, SubIDGenerator: numbered},
		"sub id generator is empty": {Indexer: &memory{}, Transformer: halves},
	} {
		_, err := NewIndexer(background, conf)
		require.EqualError(t, err, want)
	}
}

// Rule components/V11.
func TestParent_StoresPartsUnderNewIDs(t *testing.T) {
	m := &memory{}
	i, err := NewIndexer(background,
		&Config{Indexer: m, Transformer: halves, ParentIDKey: "parent", SubIDGenerator: numbered})
	require.NoError(t, err)
	ids, err := i.Store(background, []*schema.Document{{ID: "id", Content: "a"}, {ID: "ID", Content: "b"}},
		indexer.WithIndex("x"))
	require.NoError(t, err)
	require.Equal(t, []string{"id0", "id1", "ID0", "ID1"}, ids)
	require.Equal(t, "x", *m.index)
	for n, want := range []string{"id", "id", "ID", "ID"} {
		require.Equal(t, want, m.docs[n].MetaData["parent"])
	}
	require.Equal(t, "b/1", m.docs[2].Content)
}

// Rule components/B13.4.7.
func TestParent_GroupsInterleavedParts(t *testing.T) {
	var asked []string
	given := []*schema.Document{{ID: "a", MetaData: map[string]any{"k": 1}}, nil, {ID: "b"}, {ID: "a"}}
	m := &memory{}
	i, err := NewIndexer(background, &Config{
		Indexer:     m,
		Transformer: splitter(func([]*schema.Document) ([]*schema.Document, error) { return given, nil }),
		ParentIDKey: "parent",
		SubIDGenerator: func(ctx context.Context, parent string, num int) ([]string, error) {
			asked = append(asked, fmt.Sprint(parent, num))
			return numbered(ctx, parent, num)
		},
	})
	require.NoError(t, err)
	ids, err := i.Store(background, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a0", "b0", "a1"}, ids)
	require.Equal(t, []string{"a2", "b1"}, asked, "once for each document")
	require.Equal(t, map[string]any{"k": 1, "parent": "a"}, m.docs[0].MetaData)
	require.Equal(t, []*schema.Document{{ID: "a", MetaData: map[string]any{"k": 1}}, nil, {ID: "b"}, {ID: "a"}}, given,
		"the transformer's documents are left alone")
}

// Rule components/V11.
func TestParent_ReturnsTheErrorsOfItsParts(t *testing.T) {
	cases := map[string]struct {
		split    splitter
		generate func(context.Context, string, int) ([]string, error)
		want     string
	}{
		"transformer": {func([]*schema.Document) ([]*schema.Document, error) { return nil, errBoom }, numbered,
			"transform docs fail: boom"},
		"no parts": {func([]*schema.Document) ([]*schema.Document, error) { return []*schema.Document{nil}, nil }, numbered,
			"doc transformer returned no documents"},
		"generator": {halves, func(context.Context, string, int) ([]string, error) { return nil, errBoom }, "boom"},
		"number": {halves, func(context.Context, string, int) ([]string, error) { return []string{"1"}, nil },
			"generated sub IDs' num is unexpected"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i, err := NewIndexer(background, &Config{Indexer: &memory{}, Transformer: c.split, SubIDGenerator: c.generate})
			require.NoError(t, err)
			_, err = i.Store(background, []*schema.Document{{ID: "id"}})
			require.EqualError(t, err, c.want)
		})
	}
	i, err := NewIndexer(background, &Config{Indexer: &memory{}, SubIDGenerator: numbered,
		Transformer: splitter(func([]*schema.Document) ([]*schema.Document, error) { panic(errBoom) })})
	require.NoError(t, err)
	_, err = i.Store(background, nil)
	require.ErrorIs(t, err, errBoom)
}
