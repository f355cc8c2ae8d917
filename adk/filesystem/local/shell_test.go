//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/schema"
)

func execute(t *testing.T, l *Local, command string) *filesystem.ExecuteResponse {
	t.Helper()
	got, err := l.Execute(t.Context(), &filesystem.ExecuteRequest{Command: command})
	require.NoError(t, err)
	require.NotNil(t, got.ExitCode, "it is always known")
	return got
}

// requireGone waits until a process, whose id a command has written to a file, is gone.
func requireGone(t *testing.T, pidFile string) {
	t.Helper()
	pid := readPID(t, pidFile)
	require.Eventually(t, func() bool { return dead(pid) }, 10*time.Second, 5*time.Millisecond, "process %d lives on", pid)
}

func readPID(t *testing.T, pidFile string) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(pidFile)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	}, 10*time.Second, 5*time.Millisecond)
	return pid
}

// dead also holds for a zombie, which waits for an init that a container may not have.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") Z ")
}

func TestExecute_OutputAndExitCode(t *testing.T) {
	l, root := newLocal(t, func(c *Config) { c.Env = []string{"WHO=weft", "PATH=" + os.Getenv("PATH")} })
	real, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	for command, want := range map[string]struct {
		output string
		code   int
	}{
		"echo hello":                       {"hello\n", 0},
		"true":                             {"", 0},
		"echo out; echo err >&2":           {"out\nerr\n", 0},
		"echo err >&2; echo out; exit 3":   {"err\nout\n", 3},
		"pwd -P":                           {real + "\n", 0},
		"cat":                              {"", 0}, // standard input is empty
		`echo "$WHO$HOME"`:                 {"weft\n", 0},
		"kill -9 $$":                       {"", 128 + 9},
		"this-program-does-not-exist 2>&-": {"", 127},
	} {
		got := execute(t, l, command)
		require.Equal(t, want.output, got.Output, command)
		require.Equal(t, want.code, *got.ExitCode, command)
		require.False(t, got.Truncated)
	}
}

func TestExecute_Refused(t *testing.T) {
	var asked []string
	refusal := errors.New("no deleting")
	l, _ := newLocal(t, func(c *Config) {
		c.ValidateCommand = func(command string) error {
			asked = append(asked, command)
			switch {
			case strings.HasPrefix(command, "rm"):
				return refusal
			case command == "panic":
				panic("in the validator")
			}
			return nil
		}
	})
	run := map[string]func(command string) error{
		"execute": func(command string) error {
			_, err := l.Execute(t.Context(), &filesystem.ExecuteRequest{Command: command})
			return err
		},
		"streaming": func(command string) error {
			_, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: command})
			return err
		},
		"background": func(command string) error {
			_, err := l.Execute(t.Context(), &filesystem.ExecuteRequest{Command: command, RunInBackendGround: true})
			return err
		},
	}
	for name, f := range run {
		require.EqualError(t, f(""), "command is required", name)
		require.EqualError(t, f(" \n"), "command is required", name)
		require.ErrorContains(t, f("a\x00b"), "NUL", name)
		require.ErrorIs(t, f("rm -rf x"), refusal, name)
		require.ErrorContains(t, f("panic"), "in the validator", name)
	}
	require.Equal(t, "ok\n", execute(t, l, "echo ok").Output)
	require.Equal(t, "echo ok", asked[len(asked)-1])
}

func TestExecute_NoSuchShell(t *testing.T) {
	l, _ := newLocal(t, func(c *Config) { c.Shell = []string{"/no/such/shell", "-c"} })
	_, err := l.Execute(t.Context(), &filesystem.ExecuteRequest{Command: "x"})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: "x"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestExecute_LongOutputKeepsBothEnds(t *testing.T) {
	l, _ := newLocal(t, func(c *Config) { c.MaxOutputBytes = 1000 })
	command := "echo first; i=0; while [ $i -lt 5000 ]; do echo 0123456789; i=$((i+1)); done; echo last; exit 2"
	got := execute(t, l, command)
	require.True(t, got.Truncated)
	require.Equal(t, 2, *got.ExitCode)
	require.Less(t, len(got.Output), 1100)
	require.True(t, strings.HasPrefix(got.Output, "first\n"))
	require.True(t, strings.HasSuffix(got.Output, "\nlast\n"))
	require.Contains(t, got.Output, "\n[... 54011 bytes left out ...]\n") // of 6 + 55000 + 5

	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: command})
	require.NoError(t, err)
	joined, last, err := drain(sr)
	require.NoError(t, err)
	require.Equal(t, got.Output, joined, "a stream has the same output")
	require.Equal(t, 2, *last.ExitCode)
	require.True(t, last.Truncated)
}

func drain(
	sr *schema.StreamReader[*filesystem.ExecuteResponse],
) (output string, last *filesystem.ExecuteResponse, err error) {
	defer sr.Close()
	for {
		chunk, err := sr.Recv()
		if err == io.EOF {
			return output, last, nil
		}
		if err != nil {
			return output, last, err
		}
		output += chunk.Output
		last = chunk
	}
}

func TestExecute_TimeoutKillsTheGroup(t *testing.T) {
	l, root := newLocal(t, func(c *Config) { c.Timeout = 300 * time.Millisecond })
	command := "echo started; sleep 1000 & echo $! > pid; sleep 1000"
	got := execute(t, l, command)
	require.Equal(t, "started\n\n[stopped, as it ran longer than 300ms]", got.Output)
	require.Equal(t, exitTimeout, *got.ExitCode)
	requireGone(t, filepath.Join(root, "pid"))

	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: command})
	require.NoError(t, err)
	output, last, err := drain(sr)
	require.NoError(t, err)
	require.Equal(t, got.Output, output)
	require.Equal(t, exitTimeout, *last.ExitCode)
}

func TestExecute_CancelKillsTheGroup(t *testing.T) {
	l, root := newLocal(t)
	pid := filepath.Join(root, "pid")
	cause := errors.New("the user pressed stop")
	for name, run := range map[string]func(ctx context.Context, command string) error{
		"execute": func(ctx context.Context, command string) error {
			got, err := l.Execute(ctx, &filesystem.ExecuteRequest{Command: command})
			require.Nil(t, got)
			return err
		},
		"streaming": func(ctx context.Context, command string) error {
			sr, err := l.ExecuteStreaming(ctx, &filesystem.ExecuteRequest{Command: command})
			require.NoError(t, err)
			output, _, err := drain(sr)
			require.Equal(t, "started\n", output)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(pid)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				readPID(t, pid)
				cancel(cause)
			}()
			// The shell itself does not want to go either.
			err := run(ctx, "trap '' TERM INT; echo started; sleep 1000 & echo $! > pid; wait; sleep 1000")
			require.ErrorIs(t, err, cause)
			requireGone(t, pid)
			cancel(nil)
		})
	}
}

// TestExecute_InheritedPipe: a process in the background holds the output open, and Execute does not wait for it.
func TestExecute_InheritedPipe(t *testing.T) {
	l, root := newLocal(t)
	for _, code := range []int{0, 3} {
		start := time.Now()
		got := execute(t, l, fmt.Sprintf("echo out; sleep 1000 & echo $! > pid; exit %d", code))
		require.Less(t, time.Since(start), 60*time.Second)
		require.Equal(t, "out\n", got.Output)
		require.Equal(t, code, *got.ExitCode)
		pid := readPID(t, filepath.Join(root, "pid"))
		require.False(t, dead(pid), "what a command leaves in the background continues, as in any shell")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

func TestExecute_Background(t *testing.T) {
	l, root := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	request := &filesystem.ExecuteRequest{Command: "echo $$ > pid; echo lost; exec sleep 1000", RunInBackendGround: true}
	got, err := l.Execute(ctx, request)
	require.NoError(t, err)
	pid := readPID(t, filepath.Join(root, "pid"))
	require.Equal(t, fmt.Sprintf("command started in background\npid: %d\n", pid), got.Output)
	require.Zero(t, *got.ExitCode)
	cancel()

	require.NoError(t, os.Remove(filepath.Join(root, "pid")))
	sr, err := l.ExecuteStreaming(t.Context(), request)
	require.NoError(t, err)
	output, last, err := drain(sr)
	require.NoError(t, err)
	require.Contains(t, output, "command started in background\n")
	require.Zero(t, *last.ExitCode)
	second := readPID(t, filepath.Join(root, "pid"))

	require.False(t, dead(pid), "it is detached from the request")
	require.NoError(t, l.Close())
	require.True(t, dead(pid), "Close stops it and waits")
	require.True(t, dead(second))
}

func TestExecute_CloseStopsCommands(t *testing.T) {
	l, root := newLocal(t)
	result := make(chan error, 1)
	go func() {
		_, err := l.Execute(context.Background(), &filesystem.ExecuteRequest{Command: "echo $$ > pid; sleep 1000"})
		result <- err
	}()
	readPID(t, filepath.Join(root, "pid"))
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-result, errClosed)
	requireGone(t, filepath.Join(root, "pid"))
}

func TestExecuteStreaming_TellsOutputWhileItComes(t *testing.T) {
	l, root := newLocal(t)
	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{
		Command: `printf 'one '; while [ ! -e go ]; do sleep 0.01; done; echo two >&2; exit 4`,
	})
	require.NoError(t, err)
	first, err := sr.Recv()
	require.NoError(t, err)
	require.Equal(t, "one ", first.Output, "the command continues only when this was read")
	require.Nil(t, first.ExitCode)
	require.NoError(t, os.WriteFile(filepath.Join(root, "go"), nil, 0o600))
	rest, last, err := drain(sr)
	require.NoError(t, err)
	require.Equal(t, "two\n", rest)
	require.Equal(t, 4, *last.ExitCode)
}

func TestExecuteStreaming_ExitCodeWithoutOutput(t *testing.T) {
	l, _ := newLocal(t)
	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: "true"})
	require.NoError(t, err)
	output, last, err := drain(sr)
	require.NoError(t, err)
	require.Empty(t, output)
	require.Zero(t, *last.ExitCode)
}

func TestExecuteStreaming_CloseKillsTheCommand(t *testing.T) {
	l, root := newLocal(t)
	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: "echo $$ > pid; sleep 1000"})
	require.NoError(t, err)
	readPID(t, filepath.Join(root, "pid"))
	sr.Close()
	requireGone(t, filepath.Join(root, "pid"))
}

// TestExecuteStreaming_Unread: a stream that is not read neither holds up the command nor keeps a goroutine.
func TestExecuteStreaming_Unread(t *testing.T) {
	l, root := newLocal(t)
	sr, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{
		Command: "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo $$ > pid",
	})
	require.NoError(t, err)
	requireGone(t, filepath.Join(root, "pid"))
	l.commands.Wait() // its goroutine is about to end too
	output, last, err := drain(sr)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("0123456789\n", 20000), output)
	require.Zero(t, *last.ExitCode)
}

func TestExecuteStreaming_ForgottenReaderStopsTheCommand(t *testing.T) {
	l, root := newLocal(t)
	func() {
		_, err := l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: "echo $$ > pid; sleep 1000"})
		require.NoError(t, err)
	}()
	pid := readPID(t, filepath.Join(root, "pid"))
	require.Eventually(t, func() bool {
		runtime.GC()
		return dead(pid)
	}, 10*time.Second, 10*time.Millisecond)
}

func TestExecute_EndedContext(t *testing.T) {
	l, root := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, background := range []bool{false, true} {
		request := &filesystem.ExecuteRequest{Command: "touch ran", RunInBackendGround: background}
		_, err := l.Execute(ctx, request)
		require.ErrorIs(t, err, context.Canceled)
		_, err = l.ExecuteStreaming(ctx, request)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoFileExists(t, filepath.Join(root, "ran"))
}
