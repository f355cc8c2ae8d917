//go:build unix

package postgres

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// childURL has the database, in the environment of the processes that are killed and frozen.
const childURL = "WEFT_POSTGRES_TEST_URL"

func TestProcess_Child(t *testing.T) {
	url := os.Getenv(childURL)
	if url == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	s, err := Open(t.Context(), url)
	require.NoError(t, err)
	defer s.Close()
	checkpointtest.Work(t, s.Store)
}

// TestProcesses_RunsAreExecutedOnce: workers are killed and frozen at random.
// Rule distributed/K9.
func TestProcesses_RunsAreExecutedOnce(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	s, err := Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	checkpointtest.Processes(t, s.Store, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_Child$", "-test.timeout=150s")
		cmd.Env = append(os.Environ(), childURL+"="+url)
		cmd.Stderr = os.Stderr
		return cmd
	})
}
