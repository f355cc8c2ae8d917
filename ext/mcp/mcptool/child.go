package mcptool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// How long a program has to stop: after its input was closed, and after it was asked to.
const patience = 5 * time.Second

// What is kept and logged of a program's standard error, in bytes.
const (
	longestErrorLine = 4 << 10
	keptErrorTail    = 2 << 10
)

// child is a program that Command started. It is the Writer of its transport: closing it stops the program.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	// exited is closed when the program has ended, and how is set before. reported is closed when its standard error was
	// read to the end.
	exited, reported chan struct{}
	how              error
	stderr           *os.File
	once             sync.Once
	// patience is the time for which it has to stop, each time that it is asked to.
	patience time.Duration

	// mu guards tail, the end of the standard error.
	mu   sync.Mutex
	tail []byte
}

// startChild starts the program, in a process group of its own.
func (s *Server) startChild() (c *child, err error) {
	cmd := exec.Command(s.conf.Command[0], s.conf.Command[1:]...) // Close stops it, and not a context
	cmd.Dir, cmd.Env = s.conf.Dir, s.environment()
	ownGroup(cmd)
	var files []*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files...)
			return nil, err
		}
		files = append(files, r, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	err = cmd.Start()
	closeAll(files[0], files[3], files[5])
	if err != nil {
		closeAll(files[1], files[2], files[4])
		return nil, err
	}
	c = &child{cmd: cmd, stdin: files[1], stdout: files[2], stderr: files[4],
		exited: make(chan struct{}), reported: make(chan struct{}), patience: patience}
	go func() {
		c.how = cmd.Wait()
		killGroup(cmd) // what the program has left behind would keep its output open
		close(c.exited)
	}()
	go c.readErrors(s.conf.Logger)
	return c, nil
}

// environment returns the environment of the program.
func (s *Server) environment() []string {
	if s.conf.InheritEnv {
		return append(os.Environ(), s.conf.Env...)
	}
	names := []string{"PATH", "HOME", "LANG", "TMPDIR", "TERM", "USER", "SHELL"}
	if runtime.GOOS == "windows" {
		names = []string{"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "USERNAME", "USERPROFILE", "APPDATA",
			"LOCALAPPDATA", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES", "COMSPEC"}
	}
	var env []string
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, s.conf.Env...)
}

// Write writes to the program.
func (c *child) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// Close stops the program: its input is closed, then it is asked to stop, then killed.
func (c *child) Close() error {
	c.once.Do(func() {
		_ = c.stdin.Close()
		if !c.waits(c.patience) {
			stopGroup(c.cmd)
			if !c.waits(c.patience) {
				killGroup(c.cmd)
				<-c.exited
			}
		}
		select {
		case <-c.reported:
		case <-time.After(time.Second): // a process outside of the group has it open
		}
		_ = c.stderr.Close()
		_ = c.stdout.Close()
		<-c.reported
	})
	return nil
}

// waits reports whether the program ends within some time.
func (c *child) waits(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// readErrors logs the standard error line by line, and keeps its end.
func (c *child) readErrors(log *slog.Logger) {
	defer close(c.reported)
	r := bufio.NewReaderSize(c.stderr, longestErrorLine)
	cut := false // the line before was too long, and what follows belongs to it
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			c.mu.Lock()
			c.tail = append(c.tail, line...)
			c.tail = c.tail[max(0, len(c.tail)-keptErrorTail):]
			c.mu.Unlock()
			if !cut {
				log.Log(context.Background(), slog.LevelDebug, "standard error of an MCP server",
					"line", clean(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "�")))
			}
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			if err != io.EOF && !errors.Is(err, os.ErrClosed) {
				log.Debug("the standard error of an MCP server cannot be read", "error", err)
			}
			return
		}
	}
}

// describe adds how the program ended, and what it said last.
func (c *child) describe(err error) error {
	if err == nil || !c.waits(100*time.Millisecond) {
		return err
	}
	select {
	case <-c.reported:
	case <-time.After(100 * time.Millisecond):
	}
	how := "the program has ended"
	if c.how != nil {
		how = "the program has ended with " + c.how.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if said := strings.TrimSpace(strings.ToValidUTF8(string(c.tail), "")); said != "" {
		how += ", and said: " + oneLine(said)
	}
	return fmt.Errorf("%w: %s", err, how)
}
