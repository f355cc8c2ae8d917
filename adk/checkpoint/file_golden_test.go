package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// A row that a release has written into a file is read by every later one, and the run continues.
// Rule distributed/B6.
func TestFileStore_ReadsTheRowsOfEveryRelease(t *testing.T) {
	const golden = "testdata/row-1.golden"
	if os.Getenv("WEFT_WRITE_GOLDEN") != "" { // only for a format that was not released
		dir := t.TempDir()
		s, err := checkpoint.NewFileStore(dir)
		require.NoError(t, err)
		l, err := s.Acquire(t.Context(), "golden", runs.LeaseRequest{Create: &runs.Spec{Agent: "agent",
			Queue: "q", Tags: map[string]string{"a": "b"}, Priority: 3, Build: "v1", Deadline: time.Unix(4_000_000_000, 0)}})
		require.NoError(t, err)
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{
			{ID: "q", Kind: "approval", For: []string{"ana"}, Text: "Pay?", Info: []byte(`{"amount":40}`)}}}))
		data, err := os.ReadFile(rowOf(t, dir))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(golden, data, 0o644))
	}
	data, err := os.ReadFile(golden)
	require.NoError(t, err)
	dir := t.TempDir()
	s, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	_, err = s.Submit(t.Context(), "golden", runs.Spec{}) // so that its file has the right name
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(rowOf(t, dir), data, 0o644))
	s, err = checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	info, ok, err := s.Inspect(t.Context(), "golden")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []any{"agent", "q", "b", 3, "v1", runs.Waiting}, []any{info.Agent, info.Queue, info.Tags["a"],
		info.Priority, info.Build, info.Status})
	require.Equal(t, `{"amount":40}`, string(info.Waiting[0].Info))
	require.NoError(t, s.Reply(t.Context(), "golden", runs.Reply{To: "q", Data: []byte("yes")}))
	l, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{Queues: []string{"q"}})
	require.NoError(t, err)
	answers, err := l.Replies(t.Context())
	require.NoError(t, err)
	require.Equal(t, "yes", string(answers[0].Data))
}

// rowOf is the file of the only row in a folder.
func rowOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.run"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}
