package extension

import (
	"context"
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
)

// Words finds documents by the words of the query. It reports itself, as components of extension modules do.
type Words struct {
	docs []*schema.Document
	topK int
	emb  embedding.Embedder
}

var (
	_ retriever.Retriever = (*Words)(nil)
	_ components.Checker  = (*Words)(nil)
)

// NewWords makes a retriever over documents.
func NewWords(docs []*schema.Document, topK int, emb embedding.Embedder) *Words {
	return &Words{docs: docs, topK: topK, emb: emb}
}

type wordsOptions struct{ fold bool }

// WithFold has the retriever ignore case.
func WithFold() retriever.Option {
	return retriever.WrapImplSpecificOptFn(func(o *wordsOptions) { o.fold = true })
}

// GetType is the name in callbacks.
func (w *Words) GetType() string { return "Words" }

// IsCallbacksEnabled says that Retrieve calls the callbacks itself.
func (w *Words) IsCallbacksEnabled() bool { return true }

// Retrieve returns the documents that have a word of the query.
func (w *Words) Retrieve(ctx context.Context, query string, opts ...retriever.Option) (
	docs []*schema.Document, err error) {
	common := retriever.GetCommonOptions(&retriever.Options{TopK: &w.topK, Embedding: w.emb}, opts...)
	own := retriever.GetImplSpecificOptions(&wordsOptions{}, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, w.GetType(), components.ComponentOfRetriever)
	ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{Query: query, TopK: *common.TopK})
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	if common.Embedding != nil {
		if _, err = common.Embedding.EmbedStrings(ctx, []string{query}); err != nil {
			return nil, err
		}
	}
	for _, doc := range w.docs {
		text := doc.Content
		if own.fold {
			text, query = strings.ToLower(text), strings.ToLower(query)
		}
		if len(docs) < *common.TopK && strings.Contains(text, query) {
			docs = append(docs, doc.WithScore(1))
		}
	}
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
	return docs, nil
}
