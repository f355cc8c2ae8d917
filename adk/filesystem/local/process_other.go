//go:build !unix && !windows

package local

import (
	"os"
	"os/exec"
)

// isolate has only the command itself killed when its context ends: this platform has no groups of processes.
func isolate(cmd *exec.Cmd) { cmd.Cancel = func() error { return cmd.Process.Kill() } }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
