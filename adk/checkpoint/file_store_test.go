package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

func newFileStore(t testing.TB) *FileStore {
	t.Helper()
	s, err := NewFileStore(filepath.Join(t.TempDir(), "deep", "down"))
	require.NoError(t, err)
	return s
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestNewFileStore_BadDirectory(t *testing.T) {
	_, err := NewFileStore("")
	require.ErrorContains(t, err, "name one")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = NewFileStore(file)
	require.ErrorContains(t, err, "not a directory")
	_, err = NewFileStore(filepath.Join(file, "below"))
	require.Error(t, err)
}

func TestFileStore_SurvivesChangeOfWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := NewFileStore("store")
	require.NoError(t, err)
	require.NoError(t, s.Set(t.Context(), "id", []byte("x")))
	t.Chdir(t.TempDir())
	_, ok, err := s.Get(t.Context(), "id")
	require.NoError(t, err)
	require.True(t, ok)
}

// TestFileStore_Names: whatever the ID is, the name is short, harmless, and differs by more than its case.
func TestFileStore_Names(t *testing.T) {
	harmless := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}(=[a-z2-7]{0,160}|-[a-z2-7]{52})$`)
	seen := map[string]string{}
	for _, id := range []string{
		"", "run-42", "Run-42", "RUN-42", "../../x", "..", ".", "a/b", `a\b`, "a\x00b", "con", "日本語",
		strings.Repeat("x", 1<<20), strings.Repeat("-", 99),
	} {
		name := fileName(id)
		require.Regexp(t, harmless, name, "of %.20q", id)
		require.NotContains(t, seen, name, "of %.20q", id)
		seen[name] = id
	}
	require.Regexp(t, "^run-42=", fileName("Run 42"), "a person should recognise it")
}

func TestFileStore_LeavesOnlyItsFiles(t *testing.T) {
	s := newFileStore(t)
	for range 5 {
		require.NoError(t, s.Set(t.Context(), "id", []byte("x")))
		require.NoError(t, s.AppendRecord(t.Context(), "id", []byte("x")))
	}
	require.Equal(t, []string{fileName("id") + ".checkpoint", fileName("id") + ".journal"}, names(t, s.dir))
	info, err := os.Stat(s.path("id", checkpointFile))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "others may not read it")
	require.NoError(t, s.Delete(t.Context(), "id"))
	require.NoError(t, s.RemoveRecords(t.Context(), "id"))
	require.Empty(t, names(t, s.dir))
}

func TestFileStore_FailedSetKeepsTheOldAndLeavesNothing(t *testing.T) {
	s := newFileStore(t)
	// A directory in the file's place: renaming over it fails, as the last step of many.
	require.NoError(t, os.MkdirAll(filepath.Join(s.path("id", checkpointFile), "full"), 0o700))
	err := s.Set(t.Context(), "id", []byte("new"))
	require.ErrorContains(t, err, `set checkpoint "id": `)
	require.Len(t, names(t, s.dir), 1)
	_, _, err = s.Get(t.Context(), "id")
	require.ErrorContains(t, err, `get checkpoint "id": `)
	require.ErrorContains(t, s.Delete(t.Context(), "id"), `delete checkpoint "id": `)
}

func TestFileStore_DirectoryGone(t *testing.T) {
	s := newFileStore(t)
	require.NoError(t, os.RemoveAll(s.dir))
	require.Error(t, s.Set(t.Context(), "id", nil))
	require.Error(t, s.AppendRecord(t.Context(), "id", nil))
	_, ok, err := s.Get(t.Context(), "id")
	require.False(t, ok)
	require.NoError(t, err)
}

// TestNewFileStore_SweepsWhatCrashesLeft: old temporary files go; young ones may be in use, others are not ours.
func TestNewFileStore_SweepsWhatCrashesLeft(t *testing.T) {
	s := newFileStore(t)
	old := time.Now().Add(-2 * abandonedAfter)
	young, aged := fileName("a")+".checkpoint.1.tmp", fileName("a")+".checkpoint.2.tmp"
	for _, name := range []string{young, aged, "notes.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), nil, 0o600))
		if name != young {
			require.NoError(t, os.Chtimes(filepath.Join(s.dir, name), old, old))
		}
	}
	_, err := NewFileStore(s.dir)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{young, "notes.tmp"}, names(t, s.dir))
}

func BenchmarkFileStore_Set(b *testing.B) {
	s := newFileStore(b)
	value := bytes.Repeat([]byte("x"), 64<<10)
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if err := s.Set(b.Context(), "id", value); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFileStore_ALeaseThatCannotBeReadIsNotLost, nor free for others: a process may have too many files open.
// Rules distributed/F15, distributed/K2.
func TestFileStore_ALeaseThatCannotBeReadIsNotLost(t *testing.T) {
	s := newFileStore(t)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{}})
	require.NoError(t, err)
	path := s.path("run", leaseFile)
	require.NoError(t, os.Rename(path, path+".aside"))
	require.NoError(t, os.Mkdir(path, 0o700)) // which cannot be opened as a file
	err = l.AppendRecord(t.Context(), "run", []byte("x"))
	require.Error(t, err)
	require.NotErrorIs(t, err, runs.ErrLeaseLost)
	other, err := NewFileStore(s.dir)
	require.NoError(t, err)
	_, err = other.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.Error(t, err)
	_, err = other.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.Error(t, err)
	require.NotErrorIs(t, err, runs.ErrNothingDue)

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Rename(path+".aside", path))
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("x")))
	_, err = other.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.ErrorIs(t, err, runs.ErrBusy)
}

// TestNewFileStore_FinishesRemovals that a crash has interrupted.
func TestNewFileStore_FinishesRemovals(t *testing.T) {
	s := newFileStore(t)
	_, err := s.Submit(t.Context(), "run", runs.Spec{Records: [][]byte{{1}}})
	require.NoError(t, err)
	_, _, err = s.Inspect(t.Context(), "run") // which does what is left of the submission
	require.NoError(t, err)
	require.NoError(t, os.Rename(s.path("run", rowFile), s.path("run", removedFile)))
	_, err = NewFileStore(s.dir)
	require.NoError(t, err)
	for _, name := range names(t, s.dir) {
		require.NotContains(t, name, "run")
	}
}

// Rule distributed/B23.
func TestNewFileStore_RefusesFilesOfAnOlderBuild(t *testing.T) {
	for _, name := range []string{"plain-4vkf2xaq7sjmnlg2.checkpoint", "plain-4vkf2xaq7sjmnlg2.journal", "plain.run"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600))
		_, err := NewFileStore(dir)
		require.ErrorContains(t, err, "was written by an older Weft")
		require.ErrorContains(t, err, name)
	}
	dir := t.TempDir()
	s, err := NewFileStore(dir)
	require.NoError(t, err)
	for _, id := range []string{"short", strings.Repeat("long", 100), ""} {
		require.NoError(t, s.Set(t.Context(), id, []byte("checkpoint")))
	}
	_, err = NewFileStore(dir)
	require.NoError(t, err)
}
