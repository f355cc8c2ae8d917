package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/weftgo/weft/ext/vector"
)

// tables are the tables of a store. A document has a number, which is its rowid, the rowid of its vector, and its rowid
// in the table of words. The upper bits of the number name its index (see numbersOf), so that the vectors of an index
// lie one behind the other.
const tables = `
CREATE TABLE IF NOT EXISTS weft_indexes (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	dimensions INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS weft_documents (
	number   INTEGER PRIMARY KEY,
	index_id INTEGER NOT NULL,
	id       TEXT NOT NULL,
	content  TEXT NOT NULL,
	metadata TEXT NOT NULL,
	UNIQUE (index_id, id)
) STRICT;
CREATE TABLE IF NOT EXISTS weft_vectors (
	number INTEGER PRIMARY KEY,
	vector BLOB NOT NULL
) STRICT;`

// words is the table of words. It has no text itself, and is kept up to date by triggers, also for stores that do not
// use it.
const words = `
CREATE VIRTUAL TABLE weft_words USING fts5(content, content='weft_documents', content_rowid='number');
CREATE TRIGGER weft_words_insert AFTER INSERT ON weft_documents BEGIN
	INSERT INTO weft_words(rowid, content) VALUES (new.number, new.content);
END;
CREATE TRIGGER weft_words_delete AFTER DELETE ON weft_documents BEGIN
	INSERT INTO weft_words(weft_words, rowid, content) VALUES ('delete', old.number, old.content);
END;
CREATE TRIGGER weft_words_update AFTER UPDATE ON weft_documents BEGIN
	INSERT INTO weft_words(weft_words, rowid, content) VALUES ('delete', old.number, old.content);
	INSERT INTO weft_words(rowid, content) VALUES (new.number, new.content);
END;
INSERT INTO weft_words(weft_words) VALUES ('rebuild');`

// backend implements vector.Backend.
type backend struct {
	db     *sql.DB
	hybrid bool
}

// numbersOf returns the range of the numbers that the documents of an index have.
func numbersOf(indexID int64) (first, last int64) { return indexID << 40, indexID<<40 + 1<<40 - 1 }

func (b *backend) createTables(ctx context.Context) error {
	return b.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, tables); err != nil || !b.hybrid {
			return err
		}
		var there int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'weft_words'").Scan(&there)
		if err != nil || there > 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, words)
		return err
	})
}

// write does something that writes, as a whole or not at all. SQLite refuses a transaction that reads first and finds
// another writer then, so do must begin with a statement that writes.
func (b *backend) write(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// read does something that sees one state of the database.
func (b *backend) read(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return do(tx)
}

func (b *backend) Upsert(ctx context.Context, index string, records []vector.Record) error {
	return b.write(ctx, func(tx *sql.Tx) error {
		indexID, err := ensureIndex(ctx, tx, index, len(records[0].Vector))
		if err != nil {
			return err
		}
		return upsert(ctx, tx, indexID, records)
	})
}

// ensureIndex returns the ID of an index, which is created if it is not there.
func ensureIndex(ctx context.Context, tx *sql.Tx, index string, dimensions int) (id int64, err error) {
	var want int
	err = tx.QueryRowContext(ctx, `INSERT INTO weft_indexes (name, dimensions) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id, dimensions`, index, dimensions).Scan(&id, &want)
	if err == nil && want != dimensions {
		err = &vector.DimensionError{Index: index, Want: want, Got: dimensions}
	}
	return id, err
}

func upsert(ctx context.Context, tx *sql.Tx, indexID int64, records []vector.Record) error {
	first, last := numbersOf(indexID)
	document, err := tx.PrepareContext(ctx, `INSERT INTO weft_documents (number, index_id, id, content, metadata)
		SELECT coalesce(max(number) + 1, ?1), ?2, ?3, ?4, ?5 FROM weft_documents WHERE number BETWEEN ?1 AND ?6
		ON CONFLICT (index_id, id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata
		RETURNING number`)
	if err != nil {
		return err
	}
	defer document.Close()
	vectors, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO weft_vectors (number, vector) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer vectors.Close()
	for i := range records {
		r := &records[i]
		var number int64
		err := document.QueryRowContext(ctx, first, indexID, r.ID, r.Content, string(r.MetaData), last).Scan(&number)
		if err != nil {
			return fmt.Errorf("document %q: %w", r.ID, err)
		}
		if _, err := vectors.ExecContext(ctx, number, vector.AppendVector(nil, r.Vector)); err != nil {
			return fmt.Errorf("vector of document %q: %w", r.ID, err)
		}
	}
	return nil
}

func (b *backend) Delete(ctx context.Context, index string, ids []string) error {
	return b.write(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			var number int64
			err := tx.QueryRowContext(ctx, `DELETE FROM weft_documents
				WHERE id = ? AND index_id = (SELECT id FROM weft_indexes WHERE name = ?) RETURNING number`,
				id, index).Scan(&number)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "DELETE FROM weft_vectors WHERE number = ?", number); err != nil {
				return err
			}
		}
		return nil
	})
}
