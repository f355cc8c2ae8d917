// Package redis is a vector store in Redis. Documents are hashes. Searches are the work of the server's search module
// (FT.SEARCH, part of Redis 8 and of Redis Stack), or with Config.Scan of the client, which reads all vectors then.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store, err := vectorredis.Open(ctx, &vectorredis.Config{Client: client, Embedding: embedder})
//	…
//	ids, err := store.Store(ctx, docs)
//	docs, err := store.Retrieve(ctx, "Where is the key?", retriever.WithTopK(3))
//
// What all vector stores do alike, filters for example, is described in package vector.
package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/schema"
)

// Config configures a [Store].
type Config struct {
	// Client connects to the server. Required. It stays the caller's to close.
	Client redis.UniversalClient
	// KeyPrefix begins all keys and the names of search indexes. Default "weft:".
	KeyPrefix string
	// Index names the index of the documents, unless a call says WithIndex. Default "documents".
	Index string
	// VectorField is the field of the hash that has the vector, as float32 values. Default "vector".
	VectorField string
	// DocumentToHashes returns more fields for the hash of a document, for other programs, or for ReturnFields. It must
	// not change the document. The fields of the store's own, and those that begin with "meta:" or "num:", are taken.
	DocumentToHashes func(ctx context.Context, doc *schema.Document) (map[string]any, error)
	// ReturnFields are fields of the hash that Retrieve adds to the metadata, as strings, where they are there.
	ReturnFields []string

	// FilterKeys are the metadata keys on which filters are possible. The search index must know them when it is
	// created, which is when the first document is stored. With Scan all keys are possible.
	FilterKeys []string
	// Dialect is the version of the query language, from 2. Default 2.
	Dialect int
	// Scan searches without the search module: the client reads all vectors of the index, and compares each with the
	// query. That is exact, and good for about 10,000 documents. As it looks through all keys of the database, these
	// should not be many more. It does not work with a cluster.
	Scan bool

	// Embedding makes the vectors. Required, unless all calls bring another one with WithEmbedding.
	Embedding embedding.Embedder
	// TopK is the number of documents that Retrieve returns at most. Default 5.
	TopK int
	// ScoreThreshold leaves out documents with a lower score.
	ScoreThreshold *float64
	// DistanceThreshold leaves out documents that are farther away: the distance is 1 less the score. It is set instead
	// of ScoreThreshold.
	DistanceThreshold *float64
	// BatchSize is the number of documents that are embedded and stored at once. Default 64.
	BatchSize int
}

func (c *Config) settings() vector.Settings {
	s := vector.Settings{
		Name: "redis", Type: "Redis", Embedding: c.Embedding, Index: c.Index,
		TopK: c.TopK, ScoreThreshold: c.ScoreThreshold, BatchSize: c.BatchSize,
	}
	if s.Index == "" {
		s.Index = "documents"
	}
	if c.DistanceThreshold != nil {
		s.ScoreThreshold = new(1 - *c.DistanceThreshold)
	}
	return s
}

func (c *Config) validate(settings *vector.Settings) error {
	errs := []error{settings.Validate()}
	_, cluster := c.Client.(*redis.ClusterClient)
	switch {
	case c.Client == nil:
		errs = append(errs, errors.New("there is no Client: make one with redis.NewClient"))
	case cluster && c.Scan:
		errs = append(errs, errors.New("the Client is one of a cluster, which Scan cannot search: leave out Scan"))
	}
	if c.ScoreThreshold != nil && c.DistanceThreshold != nil {
		errs = append(errs, errors.New("both ScoreThreshold and DistanceThreshold are set: choose one"))
	}
	if c.Dialect < 0 || c.Dialect == 1 {
		errs = append(errs, fmt.Errorf("the Dialect %d has no vectors: leave it 0 for 2", c.Dialect))
	}
	if slices.Contains(ownFields, c.VectorField) || isMetaField(c.VectorField) {
		errs = append(errs, fmt.Errorf("the VectorField %q is another field of the store", c.VectorField))
	}
	return errors.Join(errs...)
}

// A Store is an indexer.Indexer and a retriever.Retriever on one server. It is safe for concurrent use, also by several
// processes. It fires its own callbacks. Store, Retrieve and Delete are methods of [vector.Engine]. In a cluster only
// the documents of a batch that have the same slot are stored as a whole or not at all.
type Store struct{ *vector.Engine }

// Open checks that the server can search.
func Open(ctx context.Context, config *Config) (*Store, error) {
	if config == nil {
		return nil, errors.New("redis: config is nil")
	}
	settings := config.settings()
	if err := config.validate(&settings); err != nil {
		return nil, fmt.Errorf("redis: config: %w", err)
	}
	b := &backend{conf: *config}
	if b.conf.KeyPrefix == "" {
		b.conf.KeyPrefix = "weft:"
	}
	if b.conf.VectorField == "" {
		b.conf.VectorField = "vector"
	}
	if b.conf.Dialect == 0 {
		b.conf.Dialect = 2
	}
	if err := b.checkServer(ctx); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if b.conf.Scan {
		return &Store{Engine: vector.New(scanning{b}, settings)}, nil
	}
	return &Store{Engine: vector.New(indexed{b}, settings)}, nil
}

func (b *backend) checkServer(ctx context.Context) error {
	if b.conf.Scan {
		if err := b.conf.Client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("the server does not answer: %w", err)
		}
		return nil
	}
	err := b.conf.Client.Do(ctx, "FT._LIST").Err()
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "unknown command") {
		return fmt.Errorf("the server has no search module (%w): use Redis 8 or Redis Stack, or set Scan", err)
	}
	if err != nil {
		return fmt.Errorf("looking for the search module: %w", err)
	}
	return nil
}
