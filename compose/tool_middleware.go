package compose

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// ToolInput is one call of a tool on its way through the middlewares, which may change it.
type ToolInput struct {
	// Name is the tool as the model called it: an alias stays an alias.
	Name string
	// Arguments holds the arguments for the tool: after argument aliases and the arguments handler.
	Arguments string
	// CallID is the model's ID of the call; not every model gives one.
	CallID      string
	CallOptions []tool.Option
}

// ToolOutput is the result of an invokable tool.
type ToolOutput struct{ Result string }

// StreamToolOutput is the result of a streamable tool.
type StreamToolOutput struct {
	Result *schema.StreamReader[string]
}

// EnhancedInvokableToolOutput is the result of an enhanced invokable tool.
type EnhancedInvokableToolOutput struct{ Result *schema.ToolResult }

// EnhancedStreamableToolOutput is the result of an enhanced streamable tool.
type EnhancedStreamableToolOutput struct {
	Result *schema.StreamReader[*schema.ToolResult]
}

// InvokableToolEndpoint runs one call of an invokable tool.
type InvokableToolEndpoint func(ctx context.Context, input *ToolInput) (*ToolOutput, error)

// StreamableToolEndpoint runs one call of a streamable tool.
type StreamableToolEndpoint func(ctx context.Context, input *ToolInput) (*StreamToolOutput, error)

// EnhancedInvokableToolEndpoint runs one call of an enhanced invokable tool.
type EnhancedInvokableToolEndpoint func(ctx context.Context, input *ToolInput) (*EnhancedInvokableToolOutput, error)

// EnhancedStreamableToolEndpoint runs one call of an enhanced streamable tool.
type EnhancedStreamableToolEndpoint func(ctx context.Context, input *ToolInput) (*EnhancedStreamableToolOutput, error)

// InvokableToolMiddleware wraps the calls of invokable tools.
type InvokableToolMiddleware func(InvokableToolEndpoint) InvokableToolEndpoint

// StreamableToolMiddleware wraps the calls of streamable tools.
type StreamableToolMiddleware func(StreamableToolEndpoint) StreamableToolEndpoint

// EnhancedInvokableToolMiddleware wraps the calls of enhanced invokable tools.
type EnhancedInvokableToolMiddleware func(EnhancedInvokableToolEndpoint) EnhancedInvokableToolEndpoint

// EnhancedStreamableToolMiddleware wraps the calls of enhanced streamable tools.
type EnhancedStreamableToolMiddleware func(EnhancedStreamableToolEndpoint) EnhancedStreamableToolEndpoint

// ToolCallEndpoint runs one call of a tool of any kind.
type ToolCallEndpoint func(ctx context.Context, input *ToolInput) (*ToolCallOutput, error)

// ToolCallMiddleware wraps the calls of tools of every kind.
type ToolCallMiddleware func(ToolCallEndpoint) ToolCallEndpoint

// ToolMiddleware wraps the calls of a tools node's tools: every kind of tool with one function, or each kind with its
// own; nil leaves calls alone. Only the kinds that a tool implements itself count: a tool that can only be invoked goes
// through Invokable even where its result is streamed.
type ToolMiddleware struct {
	// Name gives the middleware an address segment of its own below the segment of the call, see
	// [AddressSegmentMiddleware]: it can ask for an interrupt, and find its state and its answer, without getting into
	// the way of the other middlewares and the tool, which keep their addresses. [GetResumeContext] reports a resume that
	// is meant for any of them. The error of a panic has the name. Without one the middleware is at the address of the
	// call.
	Name               string
	Invokable          InvokableToolMiddleware
	Streamable         StreamableToolMiddleware
	EnhancedInvokable  EnhancedInvokableToolMiddleware
	EnhancedStreamable EnhancedStreamableToolMiddleware
	// Every wraps the calls of tools of every kind, outside of the function for the kind if there is one, too.
	Every ToolCallMiddleware

	forForm func(form InternalToolForm, next ToolCallEndpoint) ToolCallEndpoint
}

// InternalToolForm is the form in which a tool is called. It is for the agent runtime.
type InternalToolForm int

// The forms that a tool may have.
const (
	InternalInvokable InternalToolForm = iota
	InternalStreamable
	InternalEnhancedInvokable
	InternalEnhancedStreamable
)

// InternalToolMiddleware makes a middleware for every kind of tool; wrap is passed the form, and what it
// returns must return an output or an error. It is for the agent runtime.
func InternalToolMiddleware(wrap func(form InternalToolForm, next ToolCallEndpoint) ToolCallEndpoint) ToolMiddleware {
	return ToolMiddleware{forForm: wrap}
}
