// Package sqlite is a vector store in an SQLite database: a file, and no server. The driver is in pure Go.
//
// A search compares the query with every vector of the index: exact, and quick enough for about 100,000 documents.
// Vectors are streamed from the database, so a search takes little memory. With Config.Hybrid documents are also found
// by their words.
//
//	store, err := sqlite.Open(ctx, &sqlite.Config{Path: "documents.db", Embedding: embedder})
//	…
//	defer store.Close()
//	ids, err := store.Store(ctx, docs)
//	docs, err := store.Retrieve(ctx, "Where is the key?", retriever.WithTopK(3))
//
// What all vector stores do alike, filters for example, is described in package vector.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/vector"
)

// Config configures a [Store].
type Config struct {
	// Path is the file of the database, which is created if it is not there. ":memory:" is a database that lasts as
	// long as the store. Either Path or DB is required.
	Path string
	// DB is a database of the caller's, which stays open when the store is closed. It may contain other tables; the
	// store's begin with "weft_". Its connections should have a busy_timeout.
	DB *sql.DB
	// Index names the index of the documents, unless a call says WithIndex. A database has any number of indexes. Default
	// "documents".
	Index string
	// Embedding makes the vectors. Required, unless all calls bring another one with WithEmbedding.
	Embedding embedding.Embedder
	// TopK is the number of documents that Retrieve returns at most. Default 5.
	TopK int
	// ScoreThreshold leaves out documents with a lower score.
	ScoreThreshold *float64
	// BatchSize is the number of documents that are embedded and stored at once. Default 64.
	BatchSize int
	// Hybrid also looks for the words of the query, and ranks documents by both (reciprocal rank fusion): scores are
	// from 0 to 1 then, and 1 is what is the best by vector and by words. Words are runs of letters and digits, without
	// regard to case and accents; languages that do not separate words gain nothing.
	Hybrid bool
}

func (c *Config) settings() vector.Settings {
	s := vector.Settings{
		Name: "sqlite", Type: "SQLite", Embedding: c.Embedding, Index: c.Index,
		TopK: c.TopK, ScoreThreshold: c.ScoreThreshold, BatchSize: c.BatchSize,
	}
	if s.Index == "" {
		s.Index = "documents"
	}
	return s
}

func (c *Config) validate(settings *vector.Settings) error {
	var place error
	switch {
	case c.Path == "" && c.DB == nil:
		place = errors.New("neither Path nor DB is set: set Path to the file of the database")
	case c.Path != "" && c.DB != nil:
		place = errors.New("both Path and DB are set: choose one")
	}
	return errors.Join(place, settings.Validate())
}

// place names the database for errors.
func (c *Config) place() string {
	if c.DB != nil {
		return "Config.DB"
	}
	return fmt.Sprintf("%q", c.Path)
}

// A Store is an indexer.Indexer and a retriever.Retriever on one database. It is safe for concurrent use, also by
// several processes. It fires its own callbacks. Store, Retrieve and Delete are methods of [vector.Engine].
type Store struct {
	*vector.Engine
	owned *sql.DB
}

// Open opens the database and creates the tables that are not there.
func Open(ctx context.Context, config *Config) (*Store, error) {
	if config == nil {
		return nil, errors.New("sqlite: config is nil")
	}
	settings := config.settings()
	if err := config.validate(&settings); err != nil {
		return nil, fmt.Errorf("sqlite: config: %w", err)
	}
	store, db := new(Store), config.DB
	if db == nil {
		opened, err := openFile(config.Path)
		if err != nil {
			return nil, fmt.Errorf("sqlite: opening %q: %w", config.Path, err)
		}
		store.owned, db = opened, opened
	}
	b := &backend{db: db, hybrid: config.Hybrid}
	if err := b.createTables(ctx); err != nil {
		return nil, fmt.Errorf("sqlite: creating tables in %s: %w", config.place(), errors.Join(err, store.Close()))
	}
	store.Engine = vector.New(b, settings)
	return store, nil
}

// openFile makes a pool of connections. Nothing is opened before the first is used.
func openFile(path string) (*sql.DB, error) {
	if path == ":memory:" {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			db.SetMaxOpenConns(1) // each connection would have a database of its own
		}
		return db, err
	}
	params := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)"}}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+params.Encode())
}

// Close closes the database, if the store has opened it.
func (s *Store) Close() error {
	if s.owned == nil {
		return nil
	}
	return s.owned.Close()
}
