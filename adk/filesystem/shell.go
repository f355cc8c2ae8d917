package filesystem

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// Shell runs commands and returns when they have ended.
type Shell interface {
	// Execute runs a command. A command that fails is not an error: the result has its exit code. When ctx ends, the
	// command is stopped.
	Execute(ctx context.Context, input *ExecuteRequest) (result *ExecuteResponse, err error)
}

// StreamingShell runs commands and streams their output while they run.
type StreamingShell interface {
	// ExecuteStreaming starts a command. The chunks, joined, are the output of the command; the last chunk with
	// an exit code says how it ended. Closing the stream stops the command.
	ExecuteStreaming(ctx context.Context, input *ExecuteRequest) (result *schema.StreamReader[*ExecuteResponse], err error)
}

// ExecuteRequest is a command to run.
type ExecuteRequest struct {
	// Command is a line for the shell.
	Command string
	// RunInBackendGround starts the command and does not wait for it.
	RunInBackendGround bool
}

// ExecuteResponse is the outcome of a command, or a piece of it.
type ExecuteResponse struct {
	// Output is the output of the command.
	Output string
	// ExitCode is 0 for success; nil if it is not known (yet).
	ExitCode *int
	// Truncated is true if Output is not everything.
	Truncated bool
}
