//go:build unix

package redis

import (
	"os"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// The socket and the prefix are in the environment of the processes that are killed and frozen.
const (
	childSocket = "WEFT_REDIS_TEST_SOCKET"
	childPrefix = "WEFT_REDIS_TEST_PREFIX"
)

func TestProcess_Child(t *testing.T) {
	socket := os.Getenv(childSocket)
	if socket == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	defer client.Close()
	s, err := New(t.Context(), Config{Client: client, Prefix: os.Getenv(childPrefix)})
	require.NoError(t, err)
	checkpointtest.Work(t, s)
}

// TestProcesses_RunsAreExecutedOnce: workers are killed and frozen at random.
// Rule distributed/K9.
func TestProcesses_RunsAreExecutedOnce(t *testing.T) {
	s := newStore(t, nil)
	on, err := shared()
	require.NoError(t, err)
	checkpointtest.Processes(t, s, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_Child$", "-test.timeout=150s")
		cmd.Env = append(os.Environ(), childSocket+"="+on.socket(), childPrefix+"="+s.root)
		cmd.Stderr = os.Stderr
		return cmd
	})
}
