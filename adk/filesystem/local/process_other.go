//go:build !unix && !windows

package local

import (
	"os"
	"os/exec"
)

// isolate leaves the command as it is: this platform has no groups of processes.
func isolate(*exec.Cmd) {}

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
