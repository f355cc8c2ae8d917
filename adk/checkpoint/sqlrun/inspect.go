package sqlrun

import (
	"context"
	"database/sql"
	"errors"

	"github.com/weftgo/weft/runs"
)

// Inspect returns what is known of a run.
func (s *Store) Inspect(ctx context.Context, id string) (info runs.Info, found bool, err error) {
	err = s.read(ctx, "inspect", id, func(ctx context.Context) error {
		r, err := scanRow(s.reads.QueryRowContext(ctx, s.sql(`SELECT {columns}, {now} FROM {runs}
			WHERE tenant = $1 AND id = $2 AND status <> ''`), s.tenant, encode(id)))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			info, found = s.shown(r), true
		}
		return err
	})
	return info, found, err
}

// shown returns the description of a run. It changes r, which the caller must not share.
func (s *Store) shown(r *row) runs.Info {
	r.Run.Tenant, r.Run.Born = s.name, r.Born
	return r.Run
}

// Result returns the result of a run that is done, nil if there is none.
func (s *Store) Result(ctx context.Context, id string) ([]byte, error) {
	result, _, err := s.value(ctx, "get the result of", id, resultValue)
	return result, err
}
