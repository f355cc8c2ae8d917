package pgvector

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftgo/weft/ext/vector"
)

const (
	// maxName is the number of bytes of a name that PostgreSQL keeps. It cuts off the rest, so that long names can be
	// the same.
	maxName = 63
	// maxIndexed is the number of dimensions that an HNSW index takes.
	maxIndexed = 2000
	// createLock is held by the transaction that creates something, so that two never create the same.
	createLock = 0x77656674
)

// backend implements vector.Backend.
type backend struct {
	pool          *pgxpool.Pool
	schema        string
	create, exact bool
	iterates      bool // the extension can continue a search of which a filter left too little
}

func validateName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the name %q has %d bytes: PostgreSQL allows %d", name, len(name), maxName)
	}
	return nil
}

// table returns the quoted name of a table.
func (b *backend) table(index string) (string, error) {
	if index == "" {
		return "", errors.New("the name of the table is empty")
	}
	if b.schema == "" {
		return pgx.Identifier{index}.Sanitize(), validateName(index)
	}
	return pgx.Identifier{b.schema, index}.Sanitize(), validateName(index)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// find reports whether the table is there, and how many dimensions its vectors have: -1 if the column does not say
// so.
func (b *backend) find(ctx context.Context, q querier, table string) (dimensions int, there bool, err error) {
	var found *int
	err = q.QueryRow(ctx, `SELECT (SELECT atttypmod FROM pg_attribute
		WHERE attrelid = to_regclass($1) AND attname = 'embedding' AND NOT attisdropped)`, table).Scan(&found)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("looking for table %s: %w", table, err)
	case found == nil && !b.create:
		return 0, false, fmt.Errorf("there is no table %s with a column embedding: create it, or set CreateTable", table)
	case found == nil:
		return 0, false, nil
	}
	return *found, true, nil
}

func checkDimension(index string, want int, v []float32) error {
	if want > 0 && want != len(v) {
		return &vector.DimensionError{Index: index, Want: want, Got: len(v)}
	}
	return nil
}

func (b *backend) Upsert(ctx context.Context, index string, records []vector.Record) error {
	table, err := b.table(index)
	if err != nil {
		return err
	}
	dimensions, there, err := b.find(ctx, b.pool, table)
	if err == nil && !there {
		dimensions, err = b.createTable(ctx, table, len(records[0].Vector))
	}
	if err == nil {
		err = checkDimension(index, dimensions, records[0].Vector)
	}
	if err != nil {
		return err
	}
	var ids, contents, metadata, vectors []string
	for i := range records {
		r := &records[i]
		ids, contents, metadata = append(ids, r.ID), append(contents, r.Content), append(metadata, string(r.MetaData))
		vectors = append(vectors, literal(r.Vector))
	}
	// Rows are locked in the order of their IDs, so that two calls cannot wait for each other.
	_, err = b.pool.Exec(ctx, `INSERT INTO `+table+` AS t (id, content, metadata, embedding)
		SELECT n.id, n.content, n.metadata::jsonb, n.embedding::vector
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS n (id, content, metadata, embedding)
		ORDER BY n.id
		ON CONFLICT (id) DO UPDATE
		SET content = excluded.content, metadata = excluded.metadata, embedding = excluded.embedding`,
		ids, contents, metadata, vectors)
	return err
}

// literal returns the vector as text. A parameter of the type vector would need its OID, which every database has
// another of.
func literal(v []float32) string {
	text := make([]byte, 0, 12*len(v))
	for _, x := range v {
		text = strconv.AppendFloat(append(text, ','), float64(x), 'g', -1, 32)
	}
	text[0] = '['
	return string(append(text, ']'))
}

// createExtension creates the extension, unless another process has meanwhile.
func (b *backend) createExtension(ctx context.Context) error {
	return b.locked(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS vector")
		return err
	})
}

// createTable creates a table and its index, unless another process has meanwhile, and returns the dimensions of the
// vectors in it.
func (b *backend) createTable(ctx context.Context, table string, want int) (dimensions int, err error) {
	err = b.locked(ctx, func(tx pgx.Tx) error {
		var there bool
		dimensions, there, err = b.find(ctx, tx, table)
		if err != nil || there {
			return err
		}
		dimensions = want
		_, err = tx.Exec(ctx, `CREATE TABLE `+table+` (id text PRIMARY KEY, content text NOT NULL,
			metadata jsonb NOT NULL, embedding vector(`+strconv.Itoa(want)+`) NOT NULL)`)
		if err == nil && !b.exact && want <= maxIndexed {
			_, err = tx.Exec(ctx, `CREATE INDEX ON `+table+` USING hnsw (embedding vector_cosine_ops)`)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("creating table %s: %w", table, err)
	}
	return dimensions, nil
}

func (b *backend) locked(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(createLock)); err != nil {
			return err
		}
		return do(tx)
	})
}

func (b *backend) Delete(ctx context.Context, index string, ids []string) error {
	table, err := b.table(index)
	if err != nil {
		return err
	}
	if _, there, err := b.find(ctx, b.pool, table); err != nil || !there {
		return err
	}
	_, err = b.pool.Exec(ctx, "DELETE FROM "+table+" WHERE id = ANY($1)", ids)
	return err
}
