package sqlite

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
)

// Rule distributed/B23.
func TestStore_TakesNoDamagedValueForAnother(t *testing.T) {
	s := newStore(t)
	events, err := s.OpenEvents(t.Context(), sqlrun.EventsConfig{})
	require.NoError(t, err)
	checkpointtest.Damages(t, s, events, func() []checkpointtest.Cell { return cellsOf(t, s) })
}

// cellsOf are the columns of all rows of runs and of what belongs to them, but for those that only indexes and clocks use.
func cellsOf(t *testing.T, s *Store) (cells []checkpointtest.Cell) {
	t.Helper()
	for _, table := range []struct{ name, of string }{
		{"weft_runs", "id"},
		{"weft_steps", "(SELECT id FROM weft_runs r WHERE r.no = place / 16777216)"},
		{"weft_vals", "(SELECT id FROM weft_runs r WHERE r.no = run)"},
		{"weft_events", "run"},
	} {
		rows, err := s.writes.Query("SELECT rowid, " + table.of + ", * FROM " + table.name)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			var row int64
			var of string
			values := make([]any, len(columns))
			into := []any{&row, &of}
			for i := 2; i < len(values); i++ {
				into = append(into, &values[i])
			}
			require.NoError(t, rows.Scan(into...))
			for i := 2; i < len(values); i++ {
				column := columns[i]
				c := checkpointtest.Cell{Name: table.name + "." + column, Of: of}
				set := func(value any) error {
					_, err := s.writes.Exec(fmt.Sprintf("UPDATE %s SET %s = ? WHERE rowid = ?", table.name, column), value, row)
					return err
				}
				switch v := values[i].(type) {
				case []byte:
					c.Value, c.Set = v, func(b []byte) error { return set(b) }
				case string:
					c.Value, c.Set = []byte(v), func(b []byte) error { return set(string(b)) }
				case int64:
					c.Value = binary.BigEndian.AppendUint64(nil, uint64(v))
					c.Set = func(b []byte) error {
						var n [8]byte
						copy(n[:], b)
						return set(int64(binary.BigEndian.Uint64(n[:])))
					}
				default:
					continue
				}
				switch {
				case column == "rowid" || column == "no" || column == "place" || column == "run":
					continue // another row then: what was there is missing
				case table.name == "weft_events" && (column == "tenant" || column == "kind" || column == "span" || column == "at"):
					continue // another row, and what sweeps go by
				}
				cells = append(cells, c)
			}
		}
		require.NoError(t, rows.Close())
	}
	return cells
}
