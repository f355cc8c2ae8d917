package local

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func shellCommand(ctx context.Context, shell []string, line string) *exec.Cmd {
	if len(shell) > 0 {
		return exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], line)...)
	}
	// cmd does not read its command line by the rules that exec quotes arguments by.
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /S /C "` + line + `"`}
	return cmd
}

// isolate has the command killed together with its children when its context ends.
func isolate(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
	cmd.Cancel = func() error {
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
