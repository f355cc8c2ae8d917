package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

// daemon is a command that leaves its process group and its parent, and writes its ID to a file.
const daemon = `setsid sh -c 'sh -c "echo \$\$ > pid; exec sleep 1000" &' & `

func TestExecute_TimeoutKillsDaemons(t *testing.T) {
	l, root := newLocal(t)
	c, err := l.start(t.Context(), daemon+"sleep 1000", newOutput(1000, nil))
	require.NoError(t, err)
	readPID(t, filepath.Join(root, "pid"))
	c.stop(errTimeout) // as the timer does
	response, err := l.finish(c)
	require.NoError(t, err)
	require.Equal(t, exitTimeout, *response.ExitCode)
	requireGone(t, filepath.Join(root, "pid"))
}

func TestExecute_CancelKillsDaemonsOfThatCommandOnly(t *testing.T) {
	l, root := newLocal(t)
	execute(t, l, daemon+"while [ ! -s pid ]; do sleep 0.01; done; mv pid other")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	go func() {
		readPID(t, filepath.Join(root, "pid"))
		cancel(stop)
	}()
	_, err := l.Execute(ctx, &filesystem.ExecuteRequest{Command: daemon + "sleep 1000"})
	require.ErrorIs(t, err, stop)
	requireGone(t, filepath.Join(root, "pid"))
	require.False(t, dead(readPID(t, filepath.Join(root, "other"))), "what an earlier command has left keeps running")
	require.NoError(t, l.Close())
	requireGone(t, filepath.Join(root, "other"))
}

func TestExecute_CloseKillsWhatCommandsHaveLeft(t *testing.T) {
	l, root := newLocal(t)
	for name, command := range map[string]string{
		"in the background": "sleep 1000 & echo $! > pid; exit",
		"a daemon":          daemon + "while [ ! -s pid ]; do sleep 0.01; done",
	} {
		execute(t, l, command)
		require.False(t, dead(readPID(t, filepath.Join(root, "pid"))), name)
		require.NoError(t, os.Rename(filepath.Join(root, "pid"), filepath.Join(root, name)))
	}
	other, elsewhere := newLocal(t)
	execute(t, other, "sleep 1000 & echo $! > pid; exit")
	require.NoError(t, l.Close())
	requireGone(t, filepath.Join(root, "in the background"))
	requireGone(t, filepath.Join(root, "a daemon"))
	require.False(t, dead(readPID(t, filepath.Join(elsewhere, "pid"))), "that of another backend")
}

// A backend in a command of another backend does not hide its processes from that.
func TestExecute_MarksAddUp(t *testing.T) {
	outer, _ := newLocal(t)
	t.Setenv(markVariable, outer.newMark())
	inner, root := newLocal(t)
	execute(t, inner, "sleep 1000 & echo $! > pid; exit")
	require.NoError(t, outer.Close())
	requireGone(t, filepath.Join(root, "pid"))
}

// A process is found that has cleared its environment, or taken the mark out of it, and left its group.
func TestExecute_KillsWhatHasClearedItsEnvironment(t *testing.T) {
	for _, clears := range []string{"env -i", "env -u " + markVariable} {
		hidden := clears + ` /usr/bin/setsid /bin/sh -c 'echo $$ > pid; exec /bin/sleep 1000' > /dev/null 2>&1 < /dev/null & `
		l, root := newLocal(t)
		c, err := l.start(t.Context(), hidden+"sleep 1000", newOutput(1000, nil))
		require.NoError(t, err)
		readPID(t, filepath.Join(root, "pid"))
		c.stop(errTimeout)
		_, err = l.finish(c)
		require.NoError(t, err)
		requireGone(t, filepath.Join(root, "pid"))

		l, root = newLocal(t)
		execute(t, l, hidden+"while [ ! -s pid ]; do sleep 0.01; done")
		other, elsewhere := newLocal(t)
		execute(t, other, hidden+"while [ ! -s pid ]; do sleep 0.01; done")
		require.False(t, dead(readPID(t, filepath.Join(root, "pid"))))
		require.NoError(t, l.Close())
		requireGone(t, filepath.Join(root, "pid"))
		require.False(t, dead(readPID(t, filepath.Join(elsewhere, "pid"))), "that of another backend")
		require.NoError(t, other.Close())
	}
}
