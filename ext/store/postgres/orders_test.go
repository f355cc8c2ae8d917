package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkers_PayEveryOrderOnce: examples/workers, whose processes are killed and frozen, on a server that waits for the
// disk. WEFT_CHAOS_ORDERS is how many orders there are; make chaos sets it. Rules distributed/K9.
func TestWorkers_PayEveryOrderOnce(t *testing.T) {
	runs := os.Getenv("WEFT_CHAOS_ORDERS")
	if runs == "" {
		t.Skip("WEFT_CHAOS_ORDERS is not set: make chaos sets it")
	}
	program := filepath.Join(t.TempDir(), "workers")
	build := exec.Command("go", "build", "-o", program, "./workers")
	build.Dir = "../../../examples"
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	own, err := startServer(true)
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer own.stop(syscall.SIGQUIT)
	out, err = exec.Command(program, "-runs", runs, "-store", newDatabase(t, own)).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "Every order was approved once and paid once.")
}
