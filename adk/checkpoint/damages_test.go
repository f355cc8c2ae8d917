package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/runlog"
)

// Rule distributed/B23.
func TestFileStore_TakesNoDamagedValueForAnother(t *testing.T) {
	dir, logs := t.TempDir(), t.TempDir()
	s, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	events, err := runlog.NewFileStore(logs)
	require.NoError(t, err)
	checkpointtest.Damages(t, s, events, func() (cells []checkpointtest.Cell) {
		for _, pattern := range []string{filepath.Join(dir, "*"), filepath.Join(logs, "*")} {
			paths, err := filepath.Glob(pattern)
			require.NoError(t, err)
			for _, path := range paths {
				name := filepath.Base(path)
				of := map[bool]string{true: "left", false: "right"}[strings.Contains(name, "left")]
				if of == "right" && !strings.Contains(name, of) {
					continue // locks, and the count of tokens
				}
				if strings.HasSuffix(name, ".lease") {
					continue // what counts of it is its lock
				}
				ending := filepath.Ext(name)
				if ending == ".journal" {
					ending = name // journals know their records, and not whose they are
				}
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				cells = append(cells, checkpointtest.Cell{Name: ending, Of: of, Value: data, Torn: ending == name || ending == ".jsonl",
					Set: func(b []byte) error { return os.WriteFile(path, b, 0o600) }})
			}
		}
		return cells
	})
}
