package postgres

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// Rule distributed/B23.
func TestStore_TakesNoDamagedValueForAnother(t *testing.T) {
	s := newStore(t)
	events, err := s.OpenEvents(t.Context())
	require.NoError(t, err)
	checkpointtest.Damages(t, s, events, func() []checkpointtest.Cell { return cellsOf(t, s) })
}

// cellsOf are the columns of all rows of runs and of what belongs to them, but for keys of rows and what sweeps go by.
func cellsOf(t *testing.T, s *Store) (cells []checkpointtest.Cell) {
	t.Helper()
	for _, table := range []struct{ name, of, row, left string }{
		{"weft_runs", "id", "no = $2", ""},
		{"weft_steps", "(SELECT id FROM weft_runs r WHERE r.no = place / 16777216)", "place = $2", ""},
		{"weft_vals", "(SELECT id FROM weft_runs r WHERE r.no = run)", "run * 100 + kind = $2", "run * 100 + kind"},
		{"weft_events", "run", "token * 100 + seq = $2", "token * 100 + seq"},
	} {
		key := table.left
		if key == "" {
			key = table.row[:len(table.row)-len(" = $2")]
		}
		rows, err := s.db.Query("SELECT " + key + ", " + table.of + ", * FROM " + table.name)
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
				switch {
				case column == "no" || column == "place" || column == "run" || column == "kind" || table.name == "weft_events" && column != "data":
					continue
				}
				c := checkpointtest.Cell{Name: table.name + "." + column, Of: of}
				set := func(value any) error {
					_, err := s.db.Exec(fmt.Sprintf("UPDATE %s SET %s = $1 WHERE %s", table.name, column, table.row), value, row)
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
				cells = append(cells, c)
			}
		}
		require.NoError(t, rows.Close())
	}
	return cells
}
