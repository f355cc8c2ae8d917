package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/ext/vector"
)

func (b *backend) Search(ctx context.Context, q *vector.Query) (matches []vector.Match, err error) {
	err = b.read(ctx, func(tx *sql.Tx) error {
		s := &search{ctx: ctx, tx: tx, Query: q}
		there, err := s.findIndex()
		if err != nil || !there {
			return err
		}
		var best []vector.Scored[int64]
		if b.hybrid {
			best, err = s.byBoth()
		} else {
			best, err = s.byVector(q.Limit)
		}
		if err == nil {
			matches, err = s.documents(best)
		}
		return err
	})
	return matches, err
}

// A search is one call of Search, in one transaction.
type search struct {
	*vector.Query
	ctx         context.Context
	tx          *sql.Tx
	first, last int64 // numbers of the documents in the index
}

// findIndex reports whether the index is there.
func (s *search) findIndex() (there bool, err error) {
	var id int64
	var dimensions int
	err = s.tx.QueryRowContext(s.ctx, "SELECT id, dimensions FROM weft_indexes WHERE name = ?", s.Index).
		Scan(&id, &dimensions)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err == nil && dimensions != len(s.Vector):
		err = &vector.DimensionError{Index: s.Index, Want: dimensions, Got: len(s.Vector)}
	}
	s.first, s.last = numbersOf(id)
	return err == nil, err
}

// byVector returns the documents nearest to the query, in no order. Rows are read one by one, so that memory is needed
// for the result alone.
func (s *search) byVector(limit int) ([]vector.Scored[int64], error) {
	statement := "SELECT number, vector, NULL FROM weft_vectors WHERE number BETWEEN ? AND ?"
	if len(s.Filter) > 0 {
		statement = `SELECT number, vector, metadata FROM weft_documents JOIN weft_vectors USING (number)
			WHERE number BETWEEN ? AND ?`
	}
	rows, err := s.tx.QueryContext(s.ctx, statement, s.first, s.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	top := vector.NewTop[int64](limit)
	var number int64
	var blob, metadata sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&number, &blob, &metadata); err != nil {
			return nil, err
		}
		if len(blob) != 4*len(s.Vector) {
			return nil, fmt.Errorf("the vector of document number %d has %d bytes and not %d: the database is damaged",
				number, len(blob), 4*len(s.Vector))
		}
		fits, err := s.fits(metadata)
		if err != nil {
			return nil, err
		}
		if fits {
			top.Offer(number, vector.Dot(s.Vector, blob))
		}
	}
	return top.Best(), rows.Err()
}

func (s *search) fits(metadata []byte) (bool, error) {
	if len(s.Filter) == 0 {
		return true, nil
	}
	fields, err := vector.DecodeMetaData(metadata)
	return err == nil && s.Filter.Match(fields), err
}

// documents reads what was found.
func (s *search) documents(found []vector.Scored[int64]) ([]vector.Match, error) {
	statement, err := s.tx.PrepareContext(s.ctx, "SELECT id, content, metadata FROM weft_documents WHERE number = ?")
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	matches := make([]vector.Match, len(found))
	for i, f := range found {
		m := &matches[i]
		m.Score = f.Score
		if err := statement.QueryRowContext(s.ctx, f.Key).Scan(&m.ID, &m.Content, &m.MetaData); err != nil {
			return nil, fmt.Errorf("document number %d: %w", f.Key, err)
		}
	}
	return matches, nil
}

// byWords returns documents that have a word of the query, the best first.
func (s *search) byWords(limit int) (numbers []int64, err error) {
	match := anyWord(s.Text)
	if match == "" {
		return nil, nil
	}
	rows, err := s.tx.QueryContext(s.ctx, `SELECT number, metadata
		FROM weft_words JOIN weft_documents ON weft_documents.number = weft_words.rowid
		WHERE weft_words MATCH ? AND weft_words.rowid BETWEEN ? AND ? ORDER BY rank, number`, match, s.first, s.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var number int64
	var metadata sql.RawBytes
	for len(numbers) < limit && rows.Next() {
		if err := rows.Scan(&number, &metadata); err != nil {
			return nil, err
		}
		fits, err := s.fits(metadata)
		if err != nil {
			return nil, err
		}
		if fits {
			numbers = append(numbers, number)
		}
	}
	return numbers, rows.Err()
}

// anyWord is a query in FTS5's language for documents that have a word of the text. Each word is quoted, so that none
// is an operator.
func anyWord(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) })
	for i := range words {
		words[i] = `"` + words[i] + `"`
	}
	return strings.Join(words, " OR ")
}
