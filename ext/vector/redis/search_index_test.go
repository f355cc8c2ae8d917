package redis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/ext/vector/vectortest"
	"github.com/weftgo/weft/schema"
)

// one and half are the vectors (1, 0) and (0.6, 0.8) as the commands have them.
const (
	one  = "\x00\x00\x80\x3f\x00\x00\x00\x00"
	half = "\x9a\x99\x19\x3f\xcd\xcc\x4c\x3f"
)

// storing are the answers to what Open and Store send.
func storing() map[string]string {
	return map[string]string{
		"FT._LIST": "*0\r\n", "SET": "+OK\r\n", "SETNX": ":1\r\n", "GET": "$1\r\n2\r\n",
		"FT.CREATE": "+OK\r\n", "DEL": ":0\r\n", "HSET": ":6\r\n",
	}
}

func newIndexed(t *testing.T, resp3 bool, answers map[string]string) (*fake, *Store) {
	t.Helper()
	server, client := newFake(t, resp3, answers)
	embedder := vectortest.NewEmbedder(2)
	embedder.Set("first", 5, 0)
	embedder.Set("query", 3, 4)
	store := open(t, &Config{
		Client: client, KeyPrefix: "app:", Embedding: embedder, FilterKeys: []string{"kind", "year"}, TopK: 2,
	})
	require.Equal(t, [][]string{{"FT._LIST"}}, server.take())
	return server, store
}

func TestIndexed_StoreCreatesTheIndex(t *testing.T) {
	server, store := newIndexed(t, false, storing())
	doc := &schema.Document{ID: "a", Content: "first", MetaData: map[string]any{"kind": "x", "year": 1999, "other": 1}}
	_, err := store.Store(t.Context(), []*schema.Document{doc.WithSubIndexes([]string{"red"})})
	require.NoError(t, err)
	commands := server.take()
	var created, hash []string
	for _, command := range commands {
		switch command[0] {
		case "FT.CREATE":
			created = command
		case "hset", "HSET":
			hash = command
		}
	}
	require.Equal(t, strings.Fields(`FT.CREATE app:documents ON HASH PREFIX 1 app:documents:doc: SCHEMA
		vector AS embedding VECTOR HNSW 6 TYPE FLOAT32 DIM 2 DISTANCE_METRIC COSINE
		meta:_sub_indexes AS t_5f7375625f696e6465786573 TAG num:_sub_indexes AS n_5f7375625f696e6465786573 NUMERIC
		meta:kind AS t_6b696e64 TAG num:kind AS n_6b696e64 NUMERIC
		meta:year AS t_79656172 TAG num:year AS n_79656172 NUMERIC`), created)
	require.Equal(t, "app:documents:doc:a", hash[1])
	fields := map[string]string{}
	for i := 2; i < len(hash); i += 2 {
		fields[hash[i]] = hash[i+1]
	}
	require.Equal(t, map[string]string{
		"id": "a", "content": "first", "vector": one,
		"metadata":  `{"_sub_indexes":["red"],"kind":"x","other":1,"year":1999}`,
		"meta:kind": "t7378", "meta:year": "t6e31393939", "num:year": "1999", "meta:_sub_indexes": "t73726564",
	}, fields)
	last := commands[len(commands)-4:]
	require.Equal(t, "multi", strings.ToLower(last[0][0]))
	require.Equal(t, []string{"del", "app:documents:doc:a"}, last[1])
	require.Equal(t, "exec", strings.ToLower(last[3][0]))
}

func TestIndexed_StoreWithAnIndexThatIsThere(t *testing.T) {
	answers := storing()
	answers["FT.CREATE"] = "-Index already exists\r\n"
	_, store := newIndexed(t, false, answers)
	_, err := store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "first"}})
	require.NoError(t, err)

	answers["FT.CREATE"] = "-ERR no\r\n"
	_, store = newIndexed(t, false, answers)
	_, err = store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "first"}})
	require.ErrorContains(t, err, "creating the search index: ERR no")

	answers = storing()
	answers["GET"] = "$1\r\n3\r\n"
	_, store = newIndexed(t, false, answers)
	var dimension *vector.DimensionError
	_, err = store.Store(t.Context(), []*schema.Document{{ID: "a", Content: "first"}})
	require.ErrorAs(t, err, &dimension)
	_, err = store.Retrieve(t.Context(), "query")
	require.ErrorAs(t, err, &dimension)
}

// found is an answer of FT.SEARCH with two documents, and one that has just been deleted.
func found(resp3 bool) string {
	a := bulks("id", "a", "content", "first", "metadata", `{"year":1999}`, "distance", "0.25")
	b := bulks("id", "b", "content", "second", "metadata", `{}`, "distance", "1.5")
	if !resp3 {
		return "*7\r\n:3\r\n" + bulk("app:documents:doc:b") + "*8\r\n" + b + bulk("gone") + "*-1\r\n" +
			bulk("app:documents:doc:a") + "*8\r\n" + a
	}
	entry := func(key, fields string) string {
		return "%3\r\n" + bulk("id") + bulk(key) + bulk("extra_attributes") + fields + bulk("values") + "*0\r\n"
	}
	return "%2\r\n" + bulk("results") + "*3\r\n" + entry("app:documents:doc:b", "%4\r\n"+b) + entry("gone", "%0\r\n") +
		entry("app:documents:doc:a", "%4\r\n"+a) + bulk("total_results") + ":3\r\n"
}

func TestIndexed_Retrieve(t *testing.T) {
	for _, resp3 := range []bool{false, true} {
		answers := storing()
		answers["FT.SEARCH"] = found(resp3)
		server, store := newIndexed(t, resp3, answers)
		docs, err := store.Retrieve(t.Context(), "query")
		require.NoError(t, err)
		require.Len(t, docs, 2)
		require.Equal(t, "a", docs[0].ID)
		require.Equal(t, "first", docs[0].Content)
		require.Equal(t, int64(1999), docs[0].MetaData["year"])
		require.InDelta(t, 0.75, docs[0].Score(), 1e-9)
		require.InDelta(t, -0.5, docs[1].Score(), 1e-9)
		commands := server.take()
		require.Equal(t, []string{"get", "app:documents:dimensions"}, commands[0])
		require.Equal(t, []string{"FT.SEARCH", "app:documents",
			"*=>[KNN $limit @embedding $query EF_RUNTIME $breadth AS distance]",
			"PARAMS", "6", "limit", "2", "breadth", "100", "query", half,
			"SORTBY", "distance", "ASC", "LIMIT", "0", "2", "RETURN", "4", "id", "content", "metadata", "distance",
			"DIALECT", "2"}, commands[1])
	}
}

func TestIndexed_Filters(t *testing.T) {
	answers := storing()
	answers["FT.SEARCH"] = "*1\r\n:0\r\n"
	server, store := newIndexed(t, false, answers)
	for _, c := range []struct {
		dsl  map[string]any
		want string
	}{
		{map[string]any{"kind": "x"}, "(@t_6b696e64:{t7378})"},
		{map[string]any{"kind": []any{"x", true, 7, 0.5}}, "(@t_6b696e64:{t7378|t6274727565|t6e37|t6e302e35})"},
		{map[string]any{"kind": map[string]any{"$ne": `}) | @id:{*`}}, "(-@t_6b696e64:{t737d29207c204069643a7b2a})"},
		{
			map[string]any{"year": map[string]any{"$gte": 1990, "$lt": 2000.5}},
			"(@n_79656172:[1990 +inf] @n_79656172:[-inf (2000.5])",
		},
		{map[string]any{"year": map[string]any{"$gt": -1, "$lte": 5}}, "(@n_79656172:[(-1 +inf] @n_79656172:[-inf 5])"},
	} {
		_, err := store.Retrieve(t.Context(), "query", retriever.WithDSLInfo(c.dsl))
		require.NoError(t, err)
		condition, _, _ := strings.Cut(server.take()[1][2], "=>")
		require.Equal(t, c.want, condition)
	}
	_, err := store.Retrieve(t.Context(), "query", retriever.WithSubIndex("red"))
	require.NoError(t, err)
	require.Contains(t, server.take()[1][2], "(@t_5f7375625f696e6465786573:{t73726564})=>")
	_, err = store.Retrieve(t.Context(), "query", retriever.WithDSLInfo(map[string]any{"other": 1}))
	require.ErrorContains(t, err, `filter on "other": the search index does not know the key: name it in FilterKeys`)

	long := token(strings.Repeat("x", 1000))
	require.Len(t, long, 65)
	require.NotEqual(t, long, token(strings.Repeat("x", 1001)))
}

func TestIndexed_OddAnswers(t *testing.T) {
	for want, answer := range map[string]string{
		"which is not understood":     "+OK\r\n",
		`the distance of document "a`: "*3\r\n:1\r\n" + bulk("k") + "*4\r\n" + bulks("id", "a", "distance", "x"),
		"metadata is no JSON object":  "*3\r\n:1\r\n" + bulk("k") + "*4\r\n" + bulks("id", "a", "distance", "1"),
		"ERR no":                      "-ERR no\r\n",
	} {
		answers := storing()
		answers["FT.SEARCH"] = answer
		_, store := newIndexed(t, false, answers)
		_, err := store.Retrieve(t.Context(), "query")
		require.ErrorContains(t, err, want)
	}
	answers := storing()
	answers["GET"] = "$-1\r\n"
	_, store := newIndexed(t, false, answers)
	docs, err := store.Retrieve(t.Context(), "query")
	require.NoError(t, err, "nothing was stored yet")
	require.Empty(t, docs)
}
