package approval

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// guarded runs a call if it may run.
func guarded[M adk.MessageType, R any](ctx context.Context, m *middleware[M], tCtx *adk.ToolContext, arguments string,
	refused func(text string) R, run func(arguments string) (R, error)) (result R, err error) {
	o, err := m.decide(ctx, tCtx, arguments)
	if err != nil {
		return result, err
	}
	if o.refusal != "" {
		return refused(o.refusal), nil
	}
	result, err = run(o.arguments)
	o.finished(ctx, result, err)
	return result, err
}

func refusedText(text string) string { return text }

func refusedStream(text string) *schema.StreamReader[string] {
	return schema.StreamReaderFromArray([]string{text})
}

func refusedResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func refusedResults(text string) *schema.StreamReader[*schema.ToolResult] {
	return schema.StreamReaderFromArray([]*schema.ToolResult{refusedResult(text)})
}

// WrapInvokableToolCall asks before the call, and so do the three methods after it.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		return guarded(ctx, m, tCtx, arguments, refusedText, func(arguments string) (string, error) {
			return endpoint(ctx, arguments, opts...)
		})
	}, nil
}

// WrapStreamableToolCall asks before the call.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		return guarded(ctx, m, tCtx, arguments, refusedStream, func(arguments string) (*schema.StreamReader[string], error) {
			return endpoint(ctx, arguments, opts...)
		})
	}, nil
}

// WrapEnhancedInvokableToolCall asks before the call.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		return guarded(ctx, m, tCtx, textOf(argument), refusedResult, func(arguments string) (*schema.ToolResult, error) {
			return endpoint(ctx, &schema.ToolArgument{Text: arguments}, opts...)
		})
	}, nil
}

// WrapEnhancedStreamableToolCall asks before the call.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		return guarded(ctx, m, tCtx, textOf(argument), refusedResults, func(arguments string) (*schema.StreamReader[*schema.ToolResult], error) {
			return endpoint(ctx, &schema.ToolArgument{Text: arguments}, opts...)
		})
	}, nil
}

func textOf(argument *schema.ToolArgument) string {
	if argument == nil {
		return ""
	}
	return argument.Text
}
