//go:build !windows

package local

import (
	"context"
	"os/exec"
)

func shellCommand(ctx context.Context, shell []string, line string) *exec.Cmd {
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	return exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], line)...)
}
