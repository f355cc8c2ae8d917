//go:build unix

package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lineLog is a handler of package slog that hands on the lines that programs write to their standard error.
type lineLog struct {
	slog.Handler
	lines chan string
}

func newLineLog() *lineLog {
	return &lineLog{slog.NewTextHandler(os.Stderr, nil), make(chan string, 10)}
}

func (l *lineLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *lineLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lineLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "line" {
			l.lines <- a.Value.String()
		}
		return true
	})
	return nil
}

// childOf starts this binary as a program.
func childOf(t *testing.T, mode string, log *lineLog) *child {
	t.Helper()
	s, err := New(Config{Name: "s", Command: []string{os.Args[0]}, Env: []string{"WEFT_MCP_TEST_CHILD=" + mode}, Logger: slog.New(log)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c, err := s.startChild()
	require.NoError(t, err)
	return c
}

// A program that ignores the end of its input and the request to stop is killed.
// Rule mcp/MC3.
func TestChild_ThatDoesNotStopIsKilled(t *testing.T) {
	log := newLineLog()
	c := childOf(t, "ignores", log)
	require.Equal(t, "ready", <-log.lines)
	c.patience = 200 * time.Millisecond
	var closing sync.WaitGroup
	closing.Go(func() { _ = c.Close() })
	require.Equal(t, "no more input", <-log.lines)
	select {
	case <-c.exited:
	case <-time.After(20 * time.Second):
		require.Fail(t, "it still runs")
	}
	closing.Wait()
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, status.Signal())
}

// Lines of the standard error are cut in the log, and the end of it is in the error.
// Rule mcp/MC3.
func TestChild_SaysAtMostSoMuch(t *testing.T) {
	log := newLineLog()
	c := childOf(t, "chatters", log)
	defer func() { _ = c.Close() }()
	<-c.exited
	<-c.reported
	line := <-log.lines
	require.True(t, strings.HasPrefix(line, "first xxx"))
	require.Len(t, line, longestErrorLine)
	text := c.describe(errors.New("gone")).Error()
	require.Contains(t, text, "exit status 3")
	require.Contains(t, text, "middle")
	require.True(t, strings.HasSuffix(text, "y last"))
	require.Less(t, len(text), keptErrorTail+200)
}
