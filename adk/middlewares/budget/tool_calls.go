package budget

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	notCalled        = "This tool was not called: the budget is used up."
	notCalledChinese = "未调用此工具：预算已用完。"
)

// beginTool asks for a call of a tool. Where a last answer is to come, the call may get a refusal in place of an error.
// A call that was interrupted has been asked for already.
func (m *middleware[M]) beginTool(ctx context.Context) (refusal string, err error) {
	a := m.account(ctx)
	if a == nil {
		return "", nil
	}
	if again, _, _ := tool.GetInterruptState[any](ctx); again {
		return "", nil
	}
	if err := a.begin(Spent{ToolCalls: 1}); err != nil {
		if m.conf.FinalAnswer && !a.finalTaken() {
			return language.Select(notCalled, notCalledChinese), nil
		}
		return "", err
	}
	return "", a.save(ctx)
}

func refused(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// WrapInvokableToolCall asks before each call, and so do the three methods after it.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, _ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		if refusal, err := m.beginTool(ctx); err != nil || refusal != "" {
			return refusal, err
		}
		return endpoint(ctx, arguments, opts...)
	}, nil
}

// WrapStreamableToolCall asks before each call.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, _ *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		refusal, err := m.beginTool(ctx)
		if err != nil {
			return nil, err
		}
		if refusal != "" {
			return schema.StreamReaderFromArray([]string{refusal}), nil
		}
		return endpoint(ctx, arguments, opts...)
	}, nil
}

// WrapEnhancedInvokableToolCall asks before each call.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		refusal, err := m.beginTool(ctx)
		if err != nil {
			return nil, err
		}
		if refusal != "" {
			return refused(refusal), nil
		}
		return endpoint(ctx, argument, opts...)
	}, nil
}

// WrapEnhancedStreamableToolCall asks before each call.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, _ *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		refusal, err := m.beginTool(ctx)
		if err != nil {
			return nil, err
		}
		if refusal != "" {
			return schema.StreamReaderFromArray([]*schema.ToolResult{refused(refusal)}), nil
		}
		return endpoint(ctx, argument, opts...)
	}, nil
}
