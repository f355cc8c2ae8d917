package multiquery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/mock/gomock"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
	mockmodel "github.com/weftgo/weft/internal/mock/components/model"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

// digits has a document for every digit of a query.
type digits struct {
	mu      sync.Mutex
	queries []string
	topK    []int
}

func (d *digits) Retrieve(_ context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queries = append(d.queries, query)
	if o := retriever.GetCommonOptions(nil, opts...); o.TopK != nil {
		d.topK = append(d.topK, *o.TopK)
	}
	if strings.Contains(query, "!") {
		return nil, fmt.Errorf("no results for %s: %w", query, errBoom)
	}
	var docs []*schema.Document
	for _, c := range query {
		docs = append(docs, &schema.Document{ID: string(c)})
	}
	return docs, nil
}

func ids(docs []*schema.Document) string {
	var all strings.Builder
	for _, d := range docs {
		all.WriteString(d.ID)
	}
	return all.String()
}

// answering is a model that gives one answer, by Generate alone.
func answering(t *testing.T, content string, prompts ...*string) *mockmodel.MockChatModel {
	m := mockmodel.NewMockChatModel(gomock.NewController(t))
	m.EXPECT().Generate(gomock.Any(),
		gomock.Any()).DoAndReturn(func(_ context.Context, in []*schema.Message, _ ...any) (*schema.Message, error) {
		for _, p := range prompts {
			*p = in[0].Content
		}
		return schema.AssistantMessage(content, nil), nil
	}).AnyTimes()
	return m
}

func saying(queries ...string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return queries, nil }
}

func newRetriever(t *testing.T, conf *Config) retriever.Retriever {
	t.Helper()
	r, err := NewRetriever(background, conf)
	require.NoError(t, err)
	return r
}

// Rules components/V2, components/B13.4.2.
func TestMultiQuery_RefusesABadConfiguration(t *testing.T) {
	_, err := NewRetriever(background, nil)
	require.ErrorContains(t, err, "config is nil")
	_, err = NewRetriever(background, &Config{RewriteHandler: saying()})
	require.EqualError(t, err, "OrigRetriever is required")
	_, err = NewRetriever(background, &Config{OrigRetriever: &digits{}})
	require.EqualError(t, err, "at least one of RewriteHandler and RewriteLLM must not be empty")
	typ, _ := components.GetType(newRetriever(t, &Config{OrigRetriever: &digits{}, RewriteHandler: saying()}))
	require.Equal(t, "MultiQuery", typ)
}

// Rules components/V3, components/V4.
func TestMultiQuery_TheModelRewritesTheQuery(t *testing.T) {
	answer := "12\n23\n34\n14\n23\n45"
	for name, conf := range map[string]*Config{
		"RewriteLLM":   {RewriteLLM: answering(t, answer)},
		"RewriteModel": {RewriteModel: answering(t, answer), RewriteLLM: answering(t, "99")},
	} {
		t.Run(name, func(t *testing.T) {
			d := &digits{}
			conf.OrigRetriever = d
			docs, err := newRetriever(t, conf).Retrieve(background, "q")
			require.NoError(t, err)
			require.Equal(t, "1234", ids(docs))
			require.ElementsMatch(t, []string{"12", "23", "34", "14"}, d.queries,
				"the limit comes before equal queries are dropped")
		})
	}
}

// Rule components/V3.
func TestMultiQuery_RendersTheTemplate(t *testing.T) {
	var asked string
	conf := &Config{OrigRetriever: &digits{}, RewriteLLM: answering(t, "1", &asked), QueryVar: "ignored"}
	_, err := newRetriever(t, conf).Retrieve(background, "why {{ x }}?")
	require.NoError(t, err)
	require.Contains(t, asked, "why {{ x }}?")
	require.Contains(t, asked, "one query per line")

	for variable, text := range map[string]string{"": "about {query}", "q": "about {q}"} {
		conf = &Config{OrigRetriever: &digits{}, RewriteLLM: answering(t, "1", &asked), QueryVar: variable,
			RewriteTemplate: prompt.FromMessages(schema.FString, schema.UserMessage(text))}
		_, err = newRetriever(t, conf).Retrieve(background, "this")
		require.NoError(t, err)
		require.Equal(t, "about this", asked)
	}
}

// Rule components/V3.
func TestMultiQuery_PrefersTheHandler(t *testing.T) {
	d := &digits{}
	docs, err := newRetriever(t, &Config{OrigRetriever: d, RewriteLLM: answering(t, "9"),
		RewriteHandler: saying("1")}).Retrieve(background, "q")
	require.NoError(t, err)
	require.Equal(t, "1", ids(docs))
}

// Rule components/B13.4.3.
func TestMultiQuery_TrimsLinesAndDropsBlankOnes(t *testing.T) {
	d := &digits{}
	_, err := newRetriever(t, &Config{OrigRetriever: d, RewriteLLM: answering(t, " 1 \r\n\n\t\n2\n\n3\n"),
		MaxQueriesNum: 3}).Retrieve(background, "q")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"1", "2", "3"}, d.queries)

	d = &digits{}
	parse := func(context.Context, *schema.Message) ([]string, error) { return []string{"4"}, nil }
	_, err = newRetriever(t, &Config{OrigRetriever: d, RewriteLLM: answering(t, "x"),
		LLMOutputParser: parse}).Retrieve(background, "q")
	require.NoError(t, err)
	require.Equal(t, []string{"4"}, d.queries)
}

// Rule components/V4.
func TestMultiQuery_UsesAtMostMaxQueriesNum(t *testing.T) {
	for limit, want := range map[int]int{-3: 5, 0: 5, 1: 1, 7: 7, 100: 9} {
		d := &digits{}
		_, err := newRetriever(t, &Config{OrigRetriever: d, MaxQueriesNum: limit,
			RewriteHandler: saying("1", "2", "3", "4", "5", "6", "7", "8", "9")}).Retrieve(background, "q")
		require.NoError(t, err)
		require.Len(t, d.queries, want)
	}
}

// Rule components/V5.
func TestMultiQuery_JoinsResultsInQueryOrder(t *testing.T) {
	docs, err := newRetriever(t, &Config{OrigRetriever: &digits{},
		RewriteHandler: saying("31", "12", "34")}).Retrieve(background, "q")
	require.NoError(t, err)
	require.Equal(t, "3124", ids(docs), "in the order of the queries, each once")

	docs, err = newRetriever(t, &Config{OrigRetriever: &digits{}, RewriteHandler: saying()}).Retrieve(background, "q")
	require.NoError(t, err)
	require.Nil(t, docs)

	for range 20 {
		_, err = newRetriever(t, &Config{OrigRetriever: &digits{},
			RewriteHandler: saying("1", "!a", "!b")}).Retrieve(background, "q")
		require.EqualError(t, err, "no results for !a: boom")
	}
	failing := func(context.Context, string) ([]string, error) { return nil, errBoom }
	_, err = newRetriever(t, &Config{OrigRetriever: &digits{}, RewriteHandler: failing}).Retrieve(background, "q")
	require.ErrorIs(t, err, errBoom)
}

// Rule components/B13.4.3.
func TestMultiQuery_ForwardsOptions(t *testing.T) {
	d := &digits{}
	_, err := newRetriever(t, &Config{OrigRetriever: d, RewriteHandler: saying("1", "2")}).Retrieve(background, "q",
		retriever.WithTopK(3))
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, d.topK)
}

// Rule components/V6.
func TestMultiQuery_ReportsTheFusion(t *testing.T) {
	var reported []string
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			reported = append(reported, fmt.Sprintf("%s/%s/%s", info.Component, info.Name, info.Type))
			if info.Type == "FusionFunc" {
				reported = append(reported, fmt.Sprint(len(in.([][]*schema.Document))))
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if info.Type == "FusionFunc" {
				reported = append(reported, ids(out.([]*schema.Document)))
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			reported = append(reported, "error "+info.Name)
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(background, nil, h)
	conf := &Config{OrigRetriever: &digits{}, RewriteHandler: saying("12")}
	_, err := newRetriever(t, conf).Retrieve(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, []string{"Chain/QueryRewrite/", "Lambda/CustomQueryRewriter/", "Retriever/Retriever/",
		"Lambda/FusionFuncLambda/FusionFunc", "1", "12"}, reported)

	reported = nil
	_, err = newRetriever(t, &Config{OrigRetriever: &digits{}, RewriteLLM: answering(t, "1")}).Retrieve(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, []string{"Chain/QueryRewrite/", "Lambda/Converter/", "ChatTemplate//Default",
		"ChatModel//MockChatModel", "Lambda/OutputParser/"}, reported[:5])

	for name, fuse := range map[string]func(context.Context, [][]*schema.Document) ([]*schema.Document, error){
		"error": func(context.Context, [][]*schema.Document) ([]*schema.Document, error) { return nil, errBoom },
		"panic": func(context.Context, [][]*schema.Document) ([]*schema.Document, error) { panic(errBoom) },
	} {
		reported = nil
		conf.FusionFunc = fuse
		_, err = newRetriever(t, conf).Retrieve(ctx, "q")
		require.ErrorIs(t, err, errBoom, name)
		require.Equal(t, "error FusionFuncLambda", reported[len(reported)-1])
	}
}
