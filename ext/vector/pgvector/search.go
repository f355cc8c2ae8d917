package pgvector

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weftgo/weft/ext/vector"
)

// minBreadth and maxBreadth limit hnsw.ef_search: how many vectors a search through the index holds against each other.
// The upper one is the extension's.
const minBreadth, maxBreadth = 100, 1000

func (b *backend) Search(ctx context.Context, q *vector.Query) (matches []vector.Match, err error) {
	table, err := b.table(q.Index)
	if err != nil {
		return nil, err
	}
	s, err := newStatement(q)
	if err != nil {
		return nil, err
	}
	err = pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		dimensions, there, err := b.find(ctx, tx, table)
		if err != nil || !there {
			return err
		}
		if err := checkDimension(q.Index, dimensions, q.Vector); err != nil {
			return err
		}
		if err := b.tune(ctx, tx, q); err != nil {
			return fmt.Errorf("settings of the search: %w", err)
		}
		rows, err := tx.Query(ctx, s.text(table), s.args...)
		if err != nil {
			return err
		}
		matches, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m vector.Match, err error) {
			var metadata string
			err = row.Scan(&m.ID, &m.Content, &metadata, &m.Score)
			m.MetaData = []byte(metadata)
			return m, err
		})
		return err
	})
	return matches, err
}

// tune makes the settings of a transaction. An HNSW index alone returns no more than hnsw.ef_search rows, before the
// filter.
func (b *backend) tune(ctx context.Context, tx pgx.Tx, q *vector.Query) error {
	if b.exact || !b.iterates && (len(q.Filter) > 0 || q.Limit > maxBreadth) {
		_, err := tx.Exec(ctx, "SELECT set_config('enable_indexscan', 'off', true)")
		return err
	}
	breadth := strconv.Itoa(min(max(q.Limit, minBreadth), maxBreadth))
	if !b.iterates {
		_, err := tx.Exec(ctx, "SELECT set_config('hnsw.ef_search', $1, true)", breadth)
		return err
	}
	_, err := tx.Exec(ctx, `SELECT set_config('hnsw.ef_search', $1, true),
		set_config('hnsw.iterative_scan', 'strict_order', true)`, breadth)
	return err
}

// A statement is a search. Keys and values of filters are parameters, never text.
type statement struct {
	conditions []string
	args       []any
}

func newStatement(q *vector.Query) (*statement, error) {
	s := &statement{args: []any{literal(q.Vector), q.Limit}}
	for i := range q.Filter {
		if err := s.add(&q.Filter[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *statement) text(table string) string {
	where := ""
	if len(s.conditions) > 0 {
		where = " WHERE " + strings.Join(s.conditions, " AND ")
	}
	return `SELECT id, content, metadata::text, 1 - (embedding <=> $1::text::vector) FROM ` + table + where +
		` ORDER BY embedding <=> $1::text::vector LIMIT $2`
}

// param adds a parameter and returns its name.
func (s *statement) param(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args))
}

func (s *statement) json(v any) (param string, err error) {
	data, err := json.Marshal(v)
	return s.param(string(data)) + "::text::jsonb", err
}

// paths compare with each element of a list, or with a value that is no list.
var paths = map[vector.Op]string{
	vector.Less:    `'$[*] ? (@ < $v)'`,
	vector.AtMost:  `'$[*] ? (@ <= $v)'`,
	vector.Greater: `'$[*] ? (@ > $v)'`,
	vector.AtLeast: `'$[*] ? (@ >= $v)'`,
}

func (s *statement) add(c *vector.Condition) error {
	field := "(metadata -> " + s.param(c.Key) + "::text)"
	var alternatives []string
	for _, v := range c.Values {
		value, err := s.json(v)
		if err != nil {
			return fmt.Errorf("filter on %q: %w", c.Key, err)
		}
		if path, ok := paths[c.Op]; ok {
			alternatives = append(alternatives,
				"jsonb_path_exists("+field+", "+path+", jsonb_build_object('v', "+value+"))")
			continue
		}
		alternatives = append(alternatives, field+" @> "+value) // equal, or a list that contains the value
	}
	condition := "coalesce(" + strings.Join(alternatives, " OR ") + ", false)"
	if c.Op == vector.NoneOf {
		condition = "NOT " + condition
	}
	s.conditions = append(s.conditions, condition)
	return nil
}
