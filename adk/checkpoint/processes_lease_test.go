//go:build unix

package checkpoint

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// The folder of the process below, and the time of its lease.
const (
	leaseChild = "WEFT_CHECKPOINT_TEST_LEASE"
	leaseTTL   = "WEFT_CHECKPOINT_TEST_TTL"
)

// TestProcess_LeaseChild is a process that holds a run and appends to it until it cannot any more.
func TestProcess_LeaseChild(t *testing.T) {
	dir := os.Getenv(leaseChild)
	if dir == "" {
		return // run by itself, it has nothing to do: the test below starts it
	}
	s, err := NewFileStore(dir)
	require.NoError(t, err)
	ttl, err := time.ParseDuration(os.Getenv(leaseTTL))
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Owner: "child", TTL: ttl, Create: &runs.Spec{Agent: "a"}})
	require.NoError(t, err)
	for i := 0; ; i++ {
		err := l.AppendRecord(t.Context(), "run", fmt.Appendf(nil, "child %d", i))
		if i == 0 {
			fmt.Println("holds")
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		time.Sleep(300 * time.Millisecond) // where the process is frozen, and not in the middle of a write
	}
}

func holdingChild(t *testing.T, dir string, ttl time.Duration) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcess_LeaseChild$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), leaseChild+"="+dir, leaseTTL+"="+ttl.String())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "holds", lines.Text())
	return cmd, lines
}

// TestFileStore_ARunOfAProcessThatWasKilledIsTakenAtOnce, without waiting for the end of its lease.
// Rule distributed/F15.
func TestFileStore_ARunOfAProcessThatWasKilledIsTakenAtOnce(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := holdingChild(t, dir, time.Hour)
	s, err := NewFileStore(dir)
	require.NoError(t, err)
	_, err = s.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.ErrorIs(t, err, runs.ErrBusy)
	require.ErrorContains(t, err, "child has it until")
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrNothingDue)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	l, err := s.AcquireDue(t.Context(), runs.LeaseRequest{Owner: "heir"}, runs.Due{})
	require.NoError(t, err)
	require.Equal(t, runs.Running, l.Info().Status)
	require.Positive(t, l.Info().Steps)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("heir")))
}

// TestFileStore_ARunOfAFrozenProcessIsTakenAfterTheTTL, and what the process writes when it wakes up does not count.
// Rules distributed/F8, distributed/F15.
func TestFileStore_ARunOfAFrozenProcessIsTakenAfterTheTTL(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := holdingChild(t, dir, 2*time.Second)
	s, err := NewFileStore(dir)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	frozen := time.Now()
	var l runs.Lease
	require.Eventually(t, func() bool {
		l, err = s.AcquireDue(t.Context(), runs.LeaseRequest{Owner: "heir", TTL: time.Minute}, runs.Due{})
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	require.Greater(t, time.Since(frozen), 1500*time.Millisecond)
	before, err := l.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), runs.ErrLeaseLost.Error())
	after, err := l.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, before, after)
	_ = cmd.Wait()
}
