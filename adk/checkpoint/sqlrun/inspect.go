package sqlrun

import (
	"context"
	"database/sql"
	"errors"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Inspect returns what is known of a run.
func (s *Store) Inspect(ctx context.Context, id string) (info checkpoint.RunInfo, found bool, err error) {
	err = s.read(ctx, "inspect", id, func(ctx context.Context) error {
		r, err := scanRow(s.reads.QueryRowContext(ctx, s.sql(`SELECT {columns}, {now} FROM {runs}
			WHERE tenant = $1 AND id = $2 AND status <> ''`), s.tenant, encode(id)))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		infos, err := s.infos(ctx, []*row{r})
		if err == nil {
			info, found = infos[0], true
		}
		return err
	})
	return info, found, err
}

// infos shows rows, with their questions.
func (s *Store) infos(ctx context.Context, rows []*row) ([]checkpoint.RunInfo, error) {
	var asking []int64
	for _, r := range rows {
		if r.asks > 0 {
			asking = append(asking, r.no)
		}
	}
	questions, err := readQuestions(ctx, s.reads, s, asking)
	if err != nil {
		return nil, err
	}
	infos := make([]checkpoint.RunInfo, len(rows))
	for i, r := range rows {
		r.tenantName = s.name
		infos[i] = r.info(pointsOf(questions[r.no]))
	}
	return infos, nil
}

// Result returns that of a run that is done, nil if there is none.
func (s *Store) Result(ctx context.Context, id string) ([]byte, error) {
	result, _, err := s.value(ctx, "get the result of", id, resultValue)
	return result, err
}
