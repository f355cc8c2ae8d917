package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/schema"
)

// exitTimeout is the exit code of a command that ran too long, the one that timeout(1) has.
const exitTimeout = 124

// Execute runs a command in the root directory and waits until it has ended. Output is what it wrote to stdout and
// stderr, in this order or mixed as it came; if it is longer than Config.MaxOutputBytes the middle is left out and
// Truncated set. The exit code is always set: 128 and the signal's number for a command that was killed, 124 for one
// that Config.Timeout stopped. Standard input is empty.
//
// When ctx ends, the command is killed with the processes it has started, and the error wraps ctx's cause. On Linux these
// are all processes that have inherited its environment or its open files, also daemons (setsid); on other Unix systems its
// process group; on Windows its child processes. What a command that ends by itself leaves in the background keeps running,
// as in any shell, until Close kills it (Linux only); its output is not waited for.
//
// With RunInBackendGround the command is started, detached from ctx, and Execute returns at once. Its output goes
// nowhere unless the command sends it to a file. It is killed by Close.
func (l *Local) Execute(ctx context.Context, input *filesystem.ExecuteRequest) (*filesystem.ExecuteResponse, error) {
	if input.RunInBackendGround {
		return l.background(ctx, input.Command)
	}
	out := newOutput(l.config.MaxOutputBytes, nil)
	c, err := l.start(ctx, input.Command, out)
	if err != nil {
		return nil, err
	}
	response, err := l.finish(c)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// finish waits for a command and returns the rest of its output, and the exit code unless there is an error.
func (l *Local) finish(c *command) (*filesystem.ExecuteResponse, error) {
	code, err := c.wait()
	rest, truncated := c.out.stop()
	response := &filesystem.ExecuteResponse{Output: rest, Truncated: truncated}
	if errors.Is(err, errTimeout) {
		response.Output += fmt.Sprintf("\n[stopped, as it ran longer than %s]", l.config.Timeout)
		code, err = exitTimeout, nil
	}
	if err == nil {
		response.ExitCode = &code
	}
	return response, err
}

func (l *Local) background(ctx context.Context, line string) (*filesystem.ExecuteResponse, error) {
	c, err := l.start(ctx, line, nil)
	if err != nil {
		return nil, err
	}
	pid := c.cmd.Process.Pid
	go func() { _, _ = c.wait() }()
	code := 0
	return &filesystem.ExecuteResponse{Output: fmt.Sprintf("command started in background\npid: %d\n", pid),
		ExitCode: &code}, nil
}

// A chunk is made when the reader of a stream asks for it, of all the output that there is by then.
type chunk func() (*filesystem.ExecuteResponse, error)

// ExecuteStreaming is like Execute, but passes the output on while it comes. The last chunk has the exit code and, of
// output that is too long, the end. If ctx ends, the stream ends with an error. Closing the stream kills the command. A
// reader that is slow, or does not read at all, does not stop the command.
func (l *Local) ExecuteStreaming(
	ctx context.Context, input *filesystem.ExecuteRequest,
) (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
	if input.RunInBackendGround {
		response, err := l.background(ctx, input.Command)
		if err != nil {
			return nil, err
		}
		return schema.StreamReaderFromArray([]*filesystem.ExecuteResponse{response}), nil
	}
	// There is room for every chunk at once: one that takes fresh output, the rest and an error. So sending never waits, and
	// nothing but the command itself runs while the stream is not read.
	chunks, sw := schema.Pipe[chunk](3)
	fresh := &freshOutput{sw: sw}
	c, err := l.start(ctx, input.Command, newOutput(l.config.MaxOutputBytes, fresh.announce))
	if err != nil {
		return nil, err
	}
	sw.OnReaderClose(func() { c.stop(errReaderGone) })
	go func() {
		defer sw.Close()
		response, err := l.finish(c)
		if response.ExitCode != nil || response.Output != "" {
			sw.Send(func() (*filesystem.ExecuteResponse, error) { return response, nil }, nil)
		}
		if err != nil {
			sw.Send(nil, err)
		}
	}()
	chunks.SetAutomaticClose()
	return schema.StreamReaderWithConvert(chunks,
		func(next chunk) (*filesystem.ExecuteResponse, error) { return next() }), nil
}
