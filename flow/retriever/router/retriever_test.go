package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

// search is a retriever that finds the same documents for every query, and notes it.
type search struct {
	docs  []*schema.Document
	err   error
	calls *int
	topK  *int
}

func (s search) Retrieve(_ context.Context, _ string, opts ...retriever.Option) ([]*schema.Document, error) {
	if s.calls != nil {
		*s.calls++
	}
	if s.topK != nil {
		*s.topK = *retriever.GetCommonOptions(nil, opts...).TopK
	}
	return s.docs, s.err
}

// list makes documents of IDs that are separated by spaces.
func list(ids string) []*schema.Document {
	var docs []*schema.Document
	for _, id := range strings.Fields(ids) {
		docs = append(docs, &schema.Document{ID: id})
	}
	return docs
}

func ids(docs []*schema.Document) string {
	all := make([]string, len(docs))
	for i, d := range docs {
		all[i] = d.ID
	}
	return strings.Join(all, " ")
}

func choosing(names ...string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return names, nil }
}

func newRetriever(t *testing.T, conf *Config) retriever.Retriever {
	t.Helper()
	r, err := NewRetriever(background, conf)
	require.NoError(t, err)
	return r
}

// Rules components/V7, components/B13.4.2.
func TestRouter_RefusesABadConfiguration(t *testing.T) {
	_, err := NewRetriever(background, nil)
	require.ErrorContains(t, err, "config is nil")
	_, err = NewRetriever(background, &Config{})
	require.EqualError(t, err, "retrievers is empty")
	_, err = NewRetriever(background, &Config{Retrievers: map[string]retriever.Retriever{"a": nil}})
	require.ErrorContains(t, err, "'a' is nil")
	typ, _ := components.GetType(newRetriever(t, &Config{Retrievers: map[string]retriever.Retriever{"a": search{}}}))
	require.Equal(t, "Router", typ)
}

// Rule components/V7.
func TestRouter_RefusesABadSelection(t *testing.T) {
	conf := &Config{Retrievers: map[string]retriever.Retriever{"a": search{docs: list("1")}, "b": search{err: errBoom}}}
	for want, route := range map[string]func(context.Context, string) ([]string, error){
		"no retriever has been selected":      choosing(),
		"router output[c] has not registered": choosing("a", "c"),
		"boom":                                choosing("a", "b"),
	} {
		conf.Router = route
		_, err := newRetriever(t, conf).Retrieve(background, "q")
		require.EqualError(t, err, want)
	}
	conf.Router = func(context.Context, string) ([]string, error) { panic(errBoom) }
	_, err := newRetriever(t, conf).Retrieve(background, "q")
	require.ErrorIs(t, err, errBoom)
}

// Rules components/V7, components/B13.4.6.
func TestRouter_ForwardsOptionsAndAsksEachNameOnce(t *testing.T) {
	var topK, calls int
	var got map[string][]*schema.Document
	r := newRetriever(t, &Config{
		Retrievers: map[string]retriever.Retriever{"a": search{docs: list("1"), topK: &topK, calls: &calls},
			"b": search{docs: list("2")}, "c": search{err: errBoom}},
		Router: choosing("a", "b", "a"),
		FusionFunc: func(_ context.Context, results map[string][]*schema.Document) ([]*schema.Document, error) {
			got = results
			return list("fused"), nil
		},
	})
	docs, err := r.Retrieve(background, "q", retriever.WithTopK(7))
	require.NoError(t, err)
	require.Equal(t, "fused", ids(docs))
	require.Equal(t, 7, topK)
	require.Equal(t, 1, calls, "a name that comes twice counts once")
	require.Equal(t, map[string][]*schema.Document{"a": list("1"), "b": list("2")}, got)
}

// Rules components/V8, components/B13.4.1.
func TestRouter_AsksAllByDefault(t *testing.T) {
	r := newRetriever(t, &Config{Retrievers: map[string]retriever.Retriever{"b": search{docs: list("2")},
		"a": search{docs: list("1")}}})
	for range 10 {
		docs, err := r.Retrieve(background, "q")
		require.NoError(t, err)
		require.Equal(t, "1 2", ids(docs))
	}
}

// Rule components/V6.
func TestRouter_ReportsRoutingAndFusion(t *testing.T) {
	var reported []string
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			reported = append(reported, fmt.Sprintf("%s/%s/%s %T", info.Component, info.Name, info.Type, in))
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			reported = append(reported, fmt.Sprintf("end %s %T", info.Name, out))
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			reported = append(reported, fmt.Sprintf("error %s %v", info.Name, err))
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(background, nil, h)
	conf := &Config{Retrievers: map[string]retriever.Retriever{"a": search{docs: list("1")}}}
	_, err := newRetriever(t, conf).Retrieve(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, []string{
		"Lambda/RouterLambda/Router string", "end RouterLambda []string",
		"Retriever/Retriever/ string", "end Retriever []*schema.Document",
		"Lambda/FusionFuncLambda/FusionFunc map[string][]*schema.Document", "end FusionFuncLambda []*schema.Document",
	}, reported)

	reported = nil
	conf.Router = choosing()
	_, err = newRetriever(t, conf).Retrieve(ctx, "q")
	require.Error(t, err)
	require.Equal(t, "error RouterLambda no retriever has been selected", reported[1])
}

// Rules components/V9, components/B13.4.6.
func TestRouter_FusesByRank(t *testing.T) {
	_, err := rrf(background, nil)
	require.EqualError(t, err, "no documents")

	one := list("1 2 1")
	docs, err := rrf(background, map[string][]*schema.Document{"a": one})
	require.NoError(t, err)
	require.Equal(t, one, docs)

	cases := []struct {
		lists map[string]string
		want  string
	}{
		{map[string]string{"a": "1 2 3 4 5", "b": "2 3 4 5 1", "c": "3 4 5 1 2"}, "3 2 4 1 5"},
		{map[string]string{"a": "x y", "b": "y x"}, "x y"},
		{map[string]string{"b": "x y", "a": "y x"}, "y x"},
		{map[string]string{"a": "1 2", "b": "3 4"}, "1 3 2 4"},
		{map[string]string{"a": "1 1 2", "b": "2"}, "2 1"},
		{map[string]string{"a": "p q r", "b": "q r p", "c": "r p q"}, "p q r"},
		{map[string]string{"a": "", "b": ""}, ""},
	}
	for _, c := range cases {
		lists := map[string][]*schema.Document{}
		for name, ids := range c.lists {
			lists[name] = list(ids)
		}
		lists["a"] = append(lists["a"], nil)
		for range 10 {
			docs, err := rrf(background, lists)
			require.NoError(t, err)
			require.Equal(t, c.want, ids(docs))
		}
	}
}

// Equal ranks in different lists are equal scores, though sums of fractions depend on their order.
// Rule components/V9.
func TestRouter_EqualRanksAreEqualScores(t *testing.T) {
	at := func(list string, ranks map[int]string) []*schema.Document {
		var docs []*schema.Document
		for rank := range 10 {
			id := ranks[rank]
			if id == "" {
				id = fmt.Sprint(list, rank)
			}
			docs = append(docs, &schema.Document{ID: id})
		}
		return docs
	}
	docs, err := rrf(background, map[string][]*schema.Document{
		"a": at("a", map[int]string{0: "p", 1: "q"}),
		"b": at("b", map[int]string{9: "p", 0: "q"}),
		"c": at("c", map[int]string{1: "p", 9: "q"}),
	})
	require.NoError(t, err)
	require.Equal(t, "p q", ids(docs[:2]))
}
