package kit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/embedding"
)

// An EmbeddingEngine is an API that makes vectors of texts, as an adapter sees it. It knows nothing of callbacks and of
// batches. It must be safe for concurrent use.
type EmbeddingEngine interface {
	// Info says who answers. It does not change.
	Info() Info
	// Config returns what a call runs with, for callback handlers.
	Config(opts []embedding.Option) *embedding.Config
	// Embed sends one request and returns a vector for each text, in their order. The usage is nil if the server does
	// not say it.
	Embed(ctx context.Context, texts []string, opts []embedding.Option) ([][]float64, *embedding.TokenUsage, error)
}

// Batches says how texts are divided into requests. Zero values are no limits, but for Concurrency, which is 1 then.
type Batches struct {
	// Texts is the number of texts that a request may have, and Bytes how many bytes they may have together: two for each
	// token that the server allows are safe. A longer text goes alone.
	Texts, Bytes int
	// Concurrency is the number of requests that are sent at once.
	Concurrency int
}

// An Embedder is an embedding.Embedder on an [EmbeddingEngine]. It fires its own callbacks, once a call. It is safe for
// concurrent use. Printing it shows no secrets.
type Embedder struct {
	engine  EmbeddingEngine
	info    Info
	batches Batches
}

var _ embedding.Embedder = (*Embedder)(nil)

// NewEmbedder makes an embedder of an engine.
func NewEmbedder(engine EmbeddingEngine, batches Batches) *Embedder {
	return &Embedder{engine: engine, info: engine.Info(), batches: batches}
}

// GetType returns the provider's name, such as "OpenAI".
func (e *Embedder) GetType() string { return e.info.Type }

// IsCallbacksEnabled returns true.
func (e *Embedder) IsCallbacksEnabled() bool { return true }

// Provider returns the name of the service, as model.HasProvider does.
func (e *Embedder) Provider() string { return e.info.System }

// Endpoint returns where the requests go, as model.HasEndpoint does.
func (e *Embedder) Endpoint() (host string, port int) { return e.info.Host, e.info.Port }

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *Embedder) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%s embedder %q at %s", e.info.Type, e.info.Model, e.info.Host)
}

// LogValue implements [slog.LogValuer].
func (e *Embedder) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(e)) }

// EmbedStrings returns one vector for each text, in order. Texts are sent in as many requests as the service needs; if
// one of these fails there are no vectors. No texts make no request. An empty text is an error that names its index, as
// services refuse the whole batch for it.
func (e *Embedder) EmbedStrings(
	ctx context.Context, texts []string, opts ...embedding.Option,
) ([][]float64, error) {
	conf := e.engine.Config(opts)
	if conf != nil {
		of := *conf
		of.Provider, of.Host, of.Port = e.info.System, e.info.Host, e.info.Port
		conf = &of
	}
	ctx = callbacks.EnsureRunInfo(ctx, e.info.Type, components.ComponentOfEmbedding)
	ctx = callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts, Config: conf})
	vectors, usage, err := e.embed(ctx, texts, opts)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &embedding.CallbackOutput{Embeddings: vectors, Config: conf, TokenUsage: usage})
	return vectors, nil
}

func (e *Embedder) embed(
	ctx context.Context, texts []string, opts []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	for i, text := range texts {
		if text == "" {
			return nil, nil, fmt.Errorf("%s: text %d is empty: leave it out", e.info.Provider, i)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := e.divide(texts)
	results := make([]batchResult, len(batches))
	free := make(chan struct{}, max(1, e.batches.Concurrency))
	var running sync.WaitGroup
	for i, batch := range batches {
		free <- struct{}{}
		if ctx.Err() != nil {
			<-free
			break
		}
		running.Go(func() {
			defer func() { <-free }()
			if results[i] = e.request(ctx, batch, opts); results[i].err != nil {
				cancel(failedBatch{results[i].err}) // the first one counts: others may be its consequence
			}
		})
	}
	running.Wait()
	var failed failedBatch
	switch {
	case errors.As(context.Cause(ctx), &failed):
		return nil, nil, failed.error
	case ctx.Err() != nil:
		return nil, nil, ended(e.info.Provider, ctx)
	}
	vectors, usage := gather(results, len(texts))
	for i, v := range vectors {
		if len(v) == 0 {
			return nil, nil, fmt.Errorf("%s: the server has given no vector for text %d", e.info.Provider, i)
		}
	}
	return vectors, usage, nil
}

// failedBatch is the cause for which the requests beside one that failed end.
type failedBatch struct{ error }

// batchResult is the result of one request.
type batchResult struct {
	vectors [][]float64
	usage   *embedding.TokenUsage
	err     error
}

func (e *Embedder) request(ctx context.Context, texts []string, opts []embedding.Option) (r batchResult) {
	defer e.info.Redactor.Recover(&r.err)
	r.vectors, r.usage, r.err = e.engine.Embed(ctx, texts, opts)
	if r.err == nil && len(r.vectors) != len(texts) {
		r.err = fmt.Errorf("%s: the server has given %d vectors for %d texts", e.info.Provider, len(r.vectors), len(texts))
	}
	return r
}

// divide returns the texts as the batches of the requests.
func (e *Embedder) divide(texts []string) (batches [][]string) {
	start, size := 0, 0
	for i, text := range texts {
		full := e.batches.Texts > 0 && i-start >= e.batches.Texts || e.batches.Bytes > 0 && size+len(text) > e.batches.Bytes
		if i > start && full {
			batches = append(batches, texts[start:i])
			start, size = i, 0
		}
		size += len(text)
	}
	if start < len(texts) {
		batches = append(batches, texts[start:])
	}
	return batches
}

// gather returns what all requests have given, of which there is no usage if none has said it.
func gather(results []batchResult, texts int) ([][]float64, *embedding.TokenUsage) {
	vectors := make([][]float64, 0, texts)
	var usage *embedding.TokenUsage
	for _, r := range results {
		vectors = append(vectors, r.vectors...)
		if r.usage == nil {
			continue
		}
		if usage == nil {
			usage = new(embedding.TokenUsage)
		}
		usage.PromptTokens += r.usage.PromptTokens
		usage.CompletionTokens += r.usage.CompletionTokens
		usage.TotalTokens += r.usage.TotalTokens
	}
	return vectors, usage
}
