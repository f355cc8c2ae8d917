package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of several processes run this test binary again, with the directory and what to do in its environment.
const (
	childDir  = "WEFT_CHECKPOINT_TEST_DIR"
	childName = "WEFT_CHECKPOINT_TEST_NAME"
)

const recordsEach = 40

// childValue is a value whose bytes all tell who wrote it.
func childValue(name string, i int) []byte { return bytes.Repeat([]byte(name), 20000+100*(i%7)) }

// TestProcess_Child runs in the other processes: those with a digit for a name write so much and end, those with a letter
// write until they are killed.
func TestProcess_Child(t *testing.T) {
	dir, name := os.Getenv(childDir), os.Getenv(childName)
	if dir == "" {
		return // run by itself, it has nothing to do: the tests below start it
	}
	s, err := NewFileStore(dir)
	require.NoError(t, err)
	for i := 0; i < recordsEach || name >= "a"; i++ {
		require.NoError(t, s.Set(t.Context(), "shared", childValue(name, i)))
		require.NoError(t, s.AppendRecord(t.Context(), "shared",
			fmt.Appendf(nil, "%s %d %s", name, i, strings.Repeat(name, i%500))))
		if i == 0 {
			fmt.Println("started")
		}
	}
}

// child starts a process and waits until it has written something.
func child(t *testing.T, dir, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_Child$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childName+"="+name)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := make([]byte, len("started\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "started\n", string(line))
	return cmd
}

func requireWhole(t *testing.T, s *FileStore) {
	t.Helper()
	got, ok, err := s.Get(t.Context(), "shared")
	require.NoError(t, err)
	require.True(t, ok)
	require.NotEmpty(t, got)
	require.Equal(t, len(got), bytes.Count(got, got[:1]), "a mixture of values")
	require.True(t, len(got) >= 20000 && len(got)%100 == 0, "%d bytes are part of a value", len(got))
}

// readChildren checks that the records of each process are there, whole and in order, and counts them.
func readChildren(t *testing.T, s *FileStore) map[string]int {
	t.Helper()
	records, err := s.ReadRecords(t.Context(), "shared")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, r := range records {
		name := string(r[:1])
		i := seen[name]
		require.Equal(t, fmt.Sprintf("%s %d %s", name, i, strings.Repeat(name, i%500)), string(r))
		seen[name]++
	}
	return seen
}

func TestFileStore_SharedByProcesses(t *testing.T) {
	s := newFileStore(t)
	one, two := child(t, s.dir, "1"), child(t, s.dir, "2")
	for range 20 {
		requireWhole(t, s)
		readChildren(t, s)
	}
	require.NoError(t, one.Wait())
	require.NoError(t, two.Wait())
	requireWhole(t, s)
	require.Equal(t, map[string]int{"1": recordsEach, "2": recordsEach}, readChildren(t, s))
	require.Len(t, names(t, s.dir), 2)
}

// TestFileStore_KilledProcess: a process that is killed anywhere leaves a whole checkpoint and a readable journal, and holds
// up no other process.
func TestFileStore_KilledProcess(t *testing.T) {
	s := newFileStore(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		cmd := child(t, s.dir, name)
		for range name[0] - 'a' { // let it get on, a little differently each time
			requireWhole(t, s)
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		requireWhole(t, s)
		seen := readChildren(t, s)
		require.Positive(t, seen[name])
	}
	require.NoError(t, s.AppendRecord(t.Context(), "shared", []byte("e 0 ")))
	require.Equal(t, 1, readChildren(t, s)["e"])
}
