package demotest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const asProgram = "WEFT_EXAMPLE_RUNS"

// Main is TestMain of an example whose tests run it as a process of its own: the binary of the test is the program, too.
func Main(m *testing.M, program func()) {
	if !RunsAs(program) {
		os.Exit(m.Run())
	}
}

// RunsAs runs the program if the process is one of Command, and reports whether it was.
func RunsAs(program func()) bool {
	if os.Getenv(asProgram) == "" {
		return false
	}
	program()
	return true
}

// Command is the example as a command, without the keys of providers in its environment.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	binary, err := os.Executable()
	if err != nil {
		binary = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_BASE_URL") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, asProgram+"=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Run runs the example to its end and returns what it printed.
func Run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := Command(t.Context(), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	require.NoError(t, cmd.Run(), "%s%s", &out, &errs)
	require.Contains(t, errs.String(), "demo model")
	return out.String()
}

// Serve starts an example that serves HTTP, and returns its address and what stops it.
func Serve(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := Command(ctx, append(args, "-addr", "127.0.0.1:0")...)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	found := make(chan string, 1)
	go func() {
		defer close(read)
		var text string
		buf := make([]byte, 4096)
		for {
			n, err := errs.Read(buf)
			text += string(buf[:n])
			if _, rest, ok := strings.Cut(text, "listening on "); ok && len(found) == 0 && strings.Contains(rest, "\n") {
				address, _, _ := strings.Cut(rest, "\n")
				found <- address
				_, _ = io.Copy(io.Discard, errs)
				return
			}
			if err != nil {
				found <- ""
				return
			}
		}
	}()
	url = <-found
	require.NotEmpty(t, url, "the server has not started")
	stop = func() {
		cancel()
		<-read
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	return url, stop
}
