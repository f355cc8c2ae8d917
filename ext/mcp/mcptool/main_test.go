package mcptool_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// childMode is the environment variable that says what this binary does instead of tests when it runs as a program of
// its own.
const childMode = "WEFT_MCP_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "":
		goleak.VerifyTestMain(m)
	case "server":
		serveStdio()
	case "stubborn": // a program that ignores requests to stop
		fmt.Fprintln(os.Stderr, "cannot find the database")
		if len(os.Args) > 1 && os.Args[1] == "dies" {
			os.Exit(3)
		}
		time.Sleep(time.Hour)
	case "ignores": // a program that stops neither at the end of its input nor when it is asked to
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "no more input")
		time.Sleep(time.Hour)
	case "chatters": // a program with much to say, in long lines
		fmt.Fprintln(os.Stderr, "first", strings.Repeat("x", 10_000), "middle", strings.Repeat("y", 1_900), "last")
		os.Exit(3)
	case "asks":
		runUntilAsked()
	}
}

// serveStdio serves tools that depend on the process.
func serveStdio() {
	s := newServer()
	addTool(s, "pid", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(fmt.Sprint(os.Getpid())), nil
	})
	addTool(s, "env", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(fmt.Sprint(os.Environ())), nil
	})
	addTool(s, "die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of ink")
		os.Exit(7)
		return nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
