// Package multiquery is a retriever that searches with several wordings of a query: a model, or a function, rewrites
// the query, another retriever is asked with all of the wordings at once, and the results are put together.
package multiquery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/retriever/internal/observed"
	"github.com/weftgo/weft/flow/retriever/utils"
	"github.com/weftgo/weft/schema"
)

const (
	defaultMaxQueries = 5
	defaultQueryVar   = "query"

	defaultTemplate = `Write a few other ways to ask for what the search query below asks for, so that a vector search
finds documents that are worded differently. Vary the words and the point of view, keep the meaning.
Give one query per line and nothing else: no numbers, no quotes, no explanation.

Query: {query}`
)

// Config configures the retriever. OrigRetriever and one of RewriteHandler, RewriteModel and RewriteLLM must be set.
type Config struct {
	// RewriteModel rewrites the query, if there is no RewriteHandler.
	RewriteModel model.BaseChatModel
	// RewriteLLM is used if there is no RewriteModel. Tools are never bound to it.
	//
	//lint:ignore SA1019 the API still has it
	RewriteLLM model.ChatModel
	// RewriteTemplate makes the messages for the model, of the variable QueryVar. The default asks for other wordings,
	// one per line.
	RewriteTemplate prompt.ChatTemplate
	// QueryVar is the variable of RewriteTemplate that is the query. The default is "query". It has no effect on the
	// default template.
	QueryVar string
	// LLMOutputParser reads the queries from the answer of the model. The default takes every line that is not blank.
	LLMOutputParser func(context.Context, *schema.Message) ([]string, error)

	// RewriteHandler rewrites the query instead of a model.
	RewriteHandler func(ctx context.Context, query string) ([]string, error)

	// MaxQueriesNum limits the number of queries; those beyond it are dropped. The default is 5. Of those left, equal
	// ones are searched once.
	MaxQueriesNum int
	// OrigRetriever does the search. It gets the options of the call.
	OrigRetriever retriever.Retriever
	// FusionFunc puts the results together; they are in the order of the queries. The default leaves out documents
	// whose ID came before.
	FusionFunc func(ctx context.Context, docs [][]*schema.Document) ([]*schema.Document, error)
}

// NewRetriever makes the retriever. It is safe for concurrent use. Nothing is searched if rewriting fails; if one
// search fails the others are cancelled, and its error is returned.
func NewRetriever(ctx context.Context, config *Config) (retriever.Retriever, error) {
	if config == nil {
		return nil, errors.New("multiquery: the config is nil")
	}
	conf := *config
	if conf.OrigRetriever == nil {
		return nil, errors.New("OrigRetriever is required")
	}
	if conf.RewriteModel == nil && conf.RewriteLLM != nil {
		conf.RewriteModel = conf.RewriteLLM
	}
	if conf.RewriteHandler == nil && conf.RewriteModel == nil {
		return nil, errors.New("at least one of RewriteHandler and RewriteLLM must not be empty")
	}
	if conf.MaxQueriesNum <= 0 {
		conf.MaxQueriesNum = defaultMaxQueries
	}
	if conf.FusionFunc == nil {
		conf.FusionFunc = unite
	}
	rewrite, err := conf.rewriter(ctx)
	if err != nil {
		return nil, fmt.Errorf("multiquery: %w", err)
	}
	return &multiQueryRetriever{
		rewrite:    rewrite,
		maxQueries: conf.MaxQueriesNum,
		search:     conf.OrigRetriever,
		fuse:       conf.FusionFunc,
	}, nil
}

// rewriter compiles the rewriting of a query.
func (c *Config) rewriter(ctx context.Context) (compose.Runnable[string, []string], error) {
	chain := compose.NewChain[string, []string]()
	if c.RewriteHandler != nil {
		chain.AppendLambda(compose.InvokableLambda(c.RewriteHandler), compose.WithNodeName("CustomQueryRewriter"))
	} else {
		template, variable, parse := c.RewriteTemplate, c.QueryVar, c.LLMOutputParser
		if template == nil {
			template, variable = prompt.FromMessages(schema.FString, schema.UserMessage(defaultTemplate)), defaultQueryVar
		}
		if variable == "" {
			variable = defaultQueryVar
		}
		if parse == nil {
			parse = lines
		}
		chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, query string) (map[string]any, error) {
			return map[string]any{variable: query}, nil
		}), compose.WithNodeName("Converter")).
			AppendChatTemplate(template).
			AppendChatModel(c.RewriteModel).
			AppendLambda(compose.InvokableLambda(parse), compose.WithNodeName("OutputParser"))
	}
	return chain.Compile(ctx, compose.WithGraphName("QueryRewrite"))
}

// lines reads one query per line.
func lines(_ context.Context, answer *schema.Message) ([]string, error) {
	if answer == nil {
		return nil, errors.New("the model gave no message")
	}
	var queries []string
	for line := range strings.Lines(answer.Content) {
		if query := strings.TrimSpace(line); query != "" {
			queries = append(queries, query)
		}
	}
	return queries, nil
}

// unite joins the results; of documents with the same ID the first one stays.
func unite(_ context.Context, results [][]*schema.Document) ([]*schema.Document, error) {
	var union []*schema.Document
	seen := map[string]bool{}
	for _, docs := range results {
		for _, doc := range docs {
			if doc != nil && !seen[doc.ID] {
				seen[doc.ID] = true
				union = append(union, doc)
			}
		}
	}
	return union, nil
}

type multiQueryRetriever struct {
	rewrite    compose.Runnable[string, []string]
	maxQueries int
	search     retriever.Retriever
	fuse       func(ctx context.Context, docs [][]*schema.Document) ([]*schema.Document, error)
}

func (m *multiQueryRetriever) Retrieve(
	ctx context.Context, query string, opts ...retriever.Option,
) ([]*schema.Document, error) {
	queries, err := m.rewrite.Invoke(ctx, query)
	if err != nil {
		return nil, err
	}
	tasks := m.tasks(queries, opts)
	utils.ConcurrentRetrieveWithCallback(ctx, tasks)
	results := make([][]*schema.Document, len(tasks))
	for i, t := range tasks {
		if t.Err != nil {
			return nil, t.Err
		}
		results[i] = t.Result
	}
	return observed.Fuse(ctx, results, m.fuse)
}

// tasks has one search for every different query among the first maxQueries.
func (m *multiQueryRetriever) tasks(queries []string, opts []retriever.Option) []*utils.RetrieveTask {
	queries = queries[:min(len(queries), m.maxQueries)]
	tasks := make([]*utils.RetrieveTask, 0, len(queries))
	seen := make(map[string]bool, len(queries))
	for _, query := range queries {
		if !seen[query] {
			seen[query] = true
			tasks = append(tasks, &utils.RetrieveTask{Name: query, Retriever: m.search, Query: query, RetrieveOptions: opts})
		}
	}
	return tasks
}

// GetType returns "MultiQuery".
func (m *multiQueryRetriever) GetType() string { return "MultiQuery" }
