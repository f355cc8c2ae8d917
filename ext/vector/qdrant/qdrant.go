// Package qdrant is a vector store in Qdrant, by its REST API. A collection holds an index.
//
//	store, err := qdrant.Open(ctx, &qdrant.Config{
//		URL: "http://localhost:6333", Collection: "letters", CreateCollection: true, Embedding: embedder,
//	})
//	…
//	ids, err := store.Store(ctx, docs)
//	docs, err := store.Retrieve(ctx, "Where is the key?", retriever.WithTopK(3))
//
// What all vector stores do alike, filters for example, is described in package vector.
package qdrant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/vector"
)

// Config configures a [Store]. Printing a Config shows no key.
type Config struct {
	// URL is the address of the server's REST API. Default "http://localhost:6333".
	URL string
	// APIKey authenticates the requests, if the server wants that.
	APIKey string
	// HTTPClient sends the requests. Default http.DefaultClient.
	HTTPClient *http.Client
	// Collection names the collection of the documents, unless a call says WithIndex, which names another collection.
	// Default "documents". A collection has one vector without a name, with the distance Cosine.
	Collection string
	// CreateCollection creates a collection that is not there when something is stored. Otherwise that is an error.
	CreateCollection bool
	// Exact compares the query with all vectors, without the index.
	Exact bool
	// Embedding makes the vectors. Required, unless all calls bring another one with WithEmbedding.
	Embedding embedding.Embedder
	// TopK is the number of documents that Retrieve returns at most. Default 5.
	TopK int
	// ScoreThreshold leaves out documents with a lower score.
	ScoreThreshold *float64
	// BatchSize is the number of documents that are embedded and stored at once. Default 64.
	BatchSize int
}

func (c *Config) settings() vector.Settings {
	s := vector.Settings{
		Name: "qdrant", Type: "Qdrant", Embedding: c.Embedding, Index: c.Collection,
		TopK: c.TopK, ScoreThreshold: c.ScoreThreshold, BatchSize: c.BatchSize,
	}
	if s.Index == "" {
		s.Index = "documents"
	}
	return s
}

// validate does not repeat the URL, which may have a password in it.
func (c *Config) validate(settings *vector.Settings) error {
	errs := []error{settings.Validate()}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
			errs = append(errs, errors.New("the URL must have http or https and a host, and no query: "+
				"such as \"http://localhost:6333\""))
		}
	}
	if strings.TrimSpace(c.APIKey) != c.APIKey {
		errs = append(errs, errors.New("the APIKey begins or ends with white space: trim it"))
	}
	return errors.Join(errs...)
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "qdrant.Config{Collection:%q}", c.Collection)
}

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// A Store is an indexer.Indexer and a retriever.Retriever on one server. It is safe for concurrent use, also by several
// processes. It fires its own callbacks. Store, Retrieve and Delete are methods of [vector.Engine]. Printing it shows
// no key.
type Store struct {
	*vector.Engine
	collection string
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (s Store) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "qdrant.Store{Collection:%q}", s.collection)
}

// LogValue implements [slog.LogValuer].
func (s Store) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

// Open makes a store. No request is made.
func Open(_ context.Context, config *Config) (*Store, error) {
	if config == nil {
		return nil, errors.New("qdrant: config is nil")
	}
	settings := config.settings()
	if err := config.validate(&settings); err != nil {
		return nil, fmt.Errorf("qdrant: config: %w", err)
	}
	c := &client{url: strings.TrimSuffix(config.URL, "/"), key: config.APIKey, http: config.HTTPClient}
	if c.url == "" {
		c.url = "http://localhost:6333"
	}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	b := &backend{client: c, create: config.CreateCollection, exact: config.Exact}
	return &Store{Engine: vector.New(b, settings), collection: settings.Index}, nil
}
