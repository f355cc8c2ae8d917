package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fill has the file not grow any more, or grow again.
func (s *Store) Fill(t testing.TB, full bool) {
	t.Helper()
	pages := 1 << 30
	if full {
		require.NoError(t, s.writes.QueryRow("PRAGMA page_count").Scan(&pages))
		_, err := s.writes.Exec("CREATE TABLE IF NOT EXISTS filler (data BLOB)")
		require.NoError(t, err)
	}
	require.NoError(t, s.writes.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(&pages))
	if !full {
		return
	}
	for size := 4096; size > 0; size /= 2 { // what is free in it
		for {
			if _, err := s.writes.Exec("INSERT INTO filler (data) VALUES (zeroblob(?))", size); err != nil {
				break
			}
		}
	}
}
