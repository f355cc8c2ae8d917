package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/internal/safe"
)

var (
	errTimeout    = errors.New("the command ran too long")
	errReaderGone = errors.New("the reader of the command's output is closed")
)

// lateOutput is the time for which output is waited for after a command has ended or was killed. It never ends when a
// process in the background has inherited the pipe.
const lateOutput = 200 * time.Millisecond

// markVariable is the environment variable that has the mark of the command that a process belongs to, after the marks of
// the commands that this process itself runs in.
const markVariable = "WEFT_COMMAND"

// newMark returns the mark of one command. It begins with the mark of the backend.
func (l *Local) newMark() string {
	return l.mark + "." + strconv.FormatInt(l.started.Add(1), 10) + ";"
}

// A command is a running process with all that it starts.
type command struct {
	cmd  *exec.Cmd
	ctx  context.Context
	stop context.CancelCauseFunc // kills it
	free func()                  // gives back what belongs to ctx
	out  *output                 // nil in the background
	done func()
}

// start starts a command. Without out it runs in the background: no output, and not bound to ctx.
func (l *Local) start(ctx context.Context, line string, out *output) (*command, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(line) == "" {
		return nil, errors.New("command is required")
	}
	if strings.IndexByte(line, 0) >= 0 {
		return nil, errors.New("command has a NUL byte")
	}
	if err := l.validate(line); err != nil {
		return nil, fmt.Errorf("command refused: %w", err)
	}
	l.starting.Lock()
	defer l.starting.Unlock()
	err := context.Cause(l.open)
	if err == nil && l.tag == nil {
		l.tag = newTag()
	}
	c := l.newCommand(ctx, line, out)
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.free()
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	l.commands.Add(1)
	return c, nil
}

func (l *Local) validate(line string) (err error) {
	defer safe.Recover(&err)
	if l.config.ValidateCommand == nil {
		return nil
	}
	return l.config.ValidateCommand(line)
}

func (l *Local) newCommand(ctx context.Context, line string, out *output) *command {
	c := &command{out: out, done: l.commands.Done}
	if out == nil {
		ctx = context.WithoutCancel(ctx)
	}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	unlink := context.AfterFunc(l.open, func() { c.stop(context.Cause(l.open)) })
	timer := func() bool { return true }
	if out != nil && l.config.Timeout > 0 {
		timer = time.AfterFunc(l.config.Timeout, func() { c.stop(errTimeout) }).Stop
	}
	own := newTag()
	c.free = func() {
		own.close()
		timer()
		unlink()
		c.stop(nil)
	}
	c.cmd = shellCommand(c.ctx, l.config.Shell, line)
	mark := l.newMark()
	c.cmd.Dir, c.cmd.Env = l.config.Root, append(slices.Clip(l.config.Env), markVariable+"="+os.Getenv(markVariable)+mark)
	c.cmd.ExtraFiles = inherited(l.tag, own)
	c.cmd.WaitDelay = lateOutput
	if out != nil {
		c.cmd.Stdout, c.cmd.Stderr = out, out
	}
	isolate(c.cmd)
	killGroup := c.cmd.Cancel
	c.cmd.Cancel = func() error {
		defer killMarked(mark, own) // those that have left the group
		return killGroup()
	}
	return c
}

// wait waits until the command has ended. The error is for a command that was stopped, or that the system lost.
func (c *command) wait() (exitCode int, err error) {
	defer c.done()
	defer c.free()
	err = c.cmd.Wait()
	state := c.cmd.ProcessState
	exited := (*exec.ExitError)(nil)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && c.ctx.Err() == nil:
		return exitStatus(state), nil
	case c.ctx.Err() != nil:
		return -1, fmt.Errorf("command stopped: %w", context.Cause(c.ctx))
	case errors.As(err, &exited):
		return exitStatus(state), nil
	}
	return -1, fmt.Errorf("command: %w", err)
}
