//go:build unix

package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// The tests of several processes run this test binary again, with the file and what to do in its environment.
const (
	childFile = "WEFT_SQLITE_TEST_FILE"
	childTask = "WEFT_SQLITE_TEST_TASK"
)

func child(file, task string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_Child$", "-test.timeout=150s")
	cmd.Env = append(os.Environ(), childFile+"="+file, childTask+"="+task)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcess_Child(t *testing.T) {
	file := os.Getenv(childFile)
	if file == "" {
		return // run by itself, it has nothing to do: the tests below start it
	}
	s, err := Open(t.Context(), file)
	require.NoError(t, err)
	defer s.Close()
	switch os.Getenv(childTask) {
	case "work":
		checkpointtest.Work(t, s.Store)
	case "begin":
		_, err := s.Submit(t.Context(), fmt.Sprint(os.Getpid()), runs.Spec{})
		require.NoError(t, err)
	case "append":
		for i := 0; ; i++ {
			require.NoError(t, s.AppendRecord(t.Context(), "id", fmt.Append(nil, i)))
			fmt.Println(i)
		}
	}
}

// TestProcesses_RunsAreExecutedOnce: workers are killed and frozen at random.
// Rule distributed/K9.
func TestProcesses_RunsAreExecutedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	checkpointtest.Processes(t, s.Store, func() *exec.Cmd { return child(file, "work") })
}

// TestProcesses_StartAtOnce: the file is made once, whichever process is first.
// Rule distributed/B8.
func TestProcesses_StartAtOnce(t *testing.T) {
	const processes = 20
	file := filepath.Join(t.TempDir(), "runs.db")
	var all []*exec.Cmd
	for range processes {
		cmd := child(file, "begin")
		require.NoError(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		require.NoError(t, cmd.Wait())
	}
	s, err := Open(t.Context(), file)
	require.NoError(t, err)
	defer s.Close()
	counts, err := s.Count(t.Context(), runs.Query{})
	require.NoError(t, err)
	require.EqualValues(t, processes, counts[runs.Ready])
}

// TestProcess_KilledWhileItAppends: what was acknowledged is there.
func TestProcess_KilledWhileItAppends(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	cmd := child(file, "append")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	last, lines := 0, bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &last); err == nil && last == 50 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait())
	s, err := Open(t.Context(), file)
	require.NoError(t, err)
	defer s.Close()
	records, err := s.ReadRecords(t.Context(), "id")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(records), last+1)
}
