// Package tool declares what a tool is: the interfaces that tools implement, the options of a call, the payloads that
// callback handlers get, and how a tool interrupts the run that called it.
//
// Most tools are made from a function by package tool/utils. A tool that is written by hand implements [BaseTool] and
// at least one of the four ways to run: [InvokableTool] or [EnhancedInvokableTool], [StreamableTool] or
// [EnhancedStreamableTool]. The enhanced ones return parts of several kinds (text, images, files) instead of a text; a
// tool that has both is run the enhanced way.
//
// A tool must be safe for concurrent use: a model may call it several times at once.
package tool

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// BaseTool describes itself to the model.
type BaseTool interface {
	// Info returns the name, the description and the parameters.
	Info(ctx context.Context) (*schema.ToolInfo, error)
}

// InvokableTool takes its arguments as a JSON text and returns a text.
type InvokableTool interface {
	BaseTool

	// InvokableRun runs the tool. argumentsInJSON is what the model wrote and may be invalid.
	InvokableRun(ctx context.Context, argumentsInJSON string, opts ...Option) (string, error)
}

// StreamableTool takes its arguments as a JSON text and returns a text in chunks.
type StreamableTool interface {
	BaseTool

	// StreamableRun runs the tool. The caller must close the reader.
	StreamableRun(ctx context.Context, argumentsInJSON string, opts ...Option) (*schema.StreamReader[string], error)
}

// EnhancedInvokableTool returns parts of several kinds.
type EnhancedInvokableTool interface {
	BaseTool

	// InvokableRun runs the tool. The text of toolArgument is what the model wrote and may be invalid.
	InvokableRun(ctx context.Context, toolArgument *schema.ToolArgument, opts ...Option) (*schema.ToolResult, error)
}

// EnhancedStreamableTool returns parts of several kinds in chunks.
type EnhancedStreamableTool interface {
	BaseTool

	// StreamableRun runs the tool. The caller must close the reader.
	StreamableRun(ctx context.Context, toolArgument *schema.ToolArgument,
		opts ...Option,
	) (*schema.StreamReader[*schema.ToolResult], error)
}
