//go:build unix

package nats

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// The server and the prefix are in the environment of the processes that are killed and frozen.
const (
	childServer = "WEFT_NATS_TEST_SERVER"
	childPrefix = "WEFT_NATS_TEST_PREFIX"
)

func TestProcess_Child(t *testing.T) {
	url := os.Getenv(childServer)
	if url == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	s, err := New(t.Context(), Config{Conn: connect(t, url), Prefix: os.Getenv(childPrefix)})
	require.NoError(t, err)
	defer s.Close()
	checkpointtest.Work(t, s)
}

// TestProcesses_RunsAreExecutedOnce: workers are killed and frozen at random, and the server is started again now and
// then.
// Rules distributed/K9, distributed/K10.
func TestProcesses_RunsAreExecutedOnce(t *testing.T) {
	on := startServer(t, true)
	s := newStore(t, on)
	restart := func() {
		on.stop()
		on.start(t)
	}
	checkpointtest.Processes(t, s, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_Child$", "-test.timeout=150s")
		cmd.Env = append(os.Environ(), childServer+"="+on.ClientURL(), childPrefix+"="+s.prefix)
		cmd.Stderr = os.Stderr
		return cmd
	}, restart)
}
