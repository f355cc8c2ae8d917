// Package pgvector is a vector store in PostgreSQL with the extension pgvector. A table holds an index; searches use an
// HNSW index of its vectors, or compare all of them.
//
//	pool, err := pgxpool.New(ctx, "postgres://localhost/app")
//	…
//	store, err := pgvector.Open(ctx, &pgvector.Config{Pool: pool, Embedding: embedder, CreateTable: true})
//	…
//	ids, err := store.Store(ctx, docs)
//	docs, err := store.Retrieve(ctx, "Where is the key?", retriever.WithTopK(3))
//
// What all vector stores do alike, filters for example, is described in package vector.
package pgvector

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/vector"
)

// Config configures a [Store].
type Config struct {
	// Pool connects to the database. Required. It stays the caller's to close.
	Pool *pgxpool.Pool
	// Schema is the place where the tables are. Default: the first schema of the connection's search_path that has them.
	Schema string
	// Table names the table of the documents, unless a call says WithIndex, which names another table. Default "documents".
	Table string
	// CreateTable creates the extension, and when something is stored the table and its index, if they are not there.
	// Otherwise a table that is not there is an error. The table of a caller's must have the columns
	//
	//	id text PRIMARY KEY, content text NOT NULL, metadata jsonb NOT NULL, embedding vector(768) NOT NULL
	//
	// and may have others with defaults.
	CreateTable bool
	// Exact compares the query with all vectors, and creates no HNSW index. Otherwise a search may miss some of the
	// nearest documents, mostly few; behind a filter that hardly any document passes they can be more. Vectors of more
	// than 2,000 dimensions have no index anyway.
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
		Name: "pgvector", Type: "PGVector", Embedding: c.Embedding, Index: c.Table,
		TopK: c.TopK, ScoreThreshold: c.ScoreThreshold, BatchSize: c.BatchSize,
	}
	if s.Index == "" {
		s.Index = "documents"
	}
	return s
}

func (c *Config) validate(settings *vector.Settings) error {
	var errs []error
	if c.Pool == nil {
		errs = append(errs, errors.New("there is no Pool: make one with pgxpool.New"))
	}
	for _, name := range []string{c.Schema, c.Table} {
		errs = append(errs, validateName(name))
	}
	return errors.Join(append(errs, settings.Validate())...)
}

// A Store is an indexer.Indexer and a retriever.Retriever on one database. It is safe for concurrent use, also by
// several processes. It fires its own callbacks. Store, Retrieve and Delete are methods of [vector.Engine].
type Store struct{ *vector.Engine }

// Open checks that the database has the extension.
func Open(ctx context.Context, config *Config) (*Store, error) {
	if config == nil {
		return nil, errors.New("pgvector: config is nil")
	}
	settings := config.settings()
	if err := config.validate(&settings); err != nil {
		return nil, fmt.Errorf("pgvector: config: %w", err)
	}
	b := &backend{pool: config.Pool, schema: config.Schema, create: config.CreateTable, exact: config.Exact}
	if err := b.findExtension(ctx); err != nil {
		return nil, fmt.Errorf("pgvector: %w", err)
	}
	return &Store{Engine: vector.New(b, settings)}, nil
}

// findExtension creates the extension, if it is not there and may be created, and reads its version.
func (b *backend) findExtension(ctx context.Context) error {
	const lookup = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
	var version string
	err := b.pool.QueryRow(ctx, lookup).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) && b.create {
		if err := b.createExtension(ctx); err != nil {
			return fmt.Errorf("creating the extension vector (have an administrator run CREATE EXTENSION vector): %w", err)
		}
		err = b.pool.QueryRow(ctx, lookup).Scan(&version)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the database has no extension vector: run CREATE EXTENSION vector, or set CreateTable")
	}
	if err != nil {
		return fmt.Errorf("looking for the extension vector: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("the extension vector has version %q, which is not understood: %w", version, err)
	}
	b.iterates = major > 0 || minor >= 8
	return nil
}
