package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestChat(t *testing.T) {
	data := t.TempDir()
	require.Equal(t, "> You have said: one\n> You have said: two\n> \n", demotest.Run(t, "one\ntwo\n", "-data", data))
	require.Equal(t, "> You have said: three\n> \n", demotest.Run(t, "three", "-data", data))
}

// TestChat_InATerminal answers, is stopped by Ctrl-C in the middle of an answer, continues, and ends with Ctrl-D.
func TestChat_InATerminal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := demotest.Command(ctx)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Skip("there is no pseudo-terminal here: ", err)
	}
	defer terminal.Close()
	seen := ""
	expect := func(text string) {
		t.Helper()
		for buf := make([]byte, 1024); !strings.Contains(seen, text); {
			n, err := terminal.Read(buf)
			seen += string(buf[:n])
			require.NoError(t, err, "waiting for %q in %q", text, seen)
		}
		_, seen, _ = strings.Cut(seen, text)
	}
	write := func(text string) {
		_, err := io.WriteString(terminal, text)
		require.NoError(t, err)
	}
	expect("> ")
	write(strings.Repeat("word ", 200) + "\n")
	expect("You have said: word word")
	write("\x03")
	expect("(stopped)")
	expect("> ")
	write("again\n")
	expect("You have said: again")
	expect("> ")
	write("\x04")
	require.NoError(t, cmd.Wait())
}
