package budget

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	notCalled        = "This tool was not called: the budget is used up."
	notCalledChinese = "未调用此工具：预算已用完。"
)

// countedKey begins the keys of run-local values that say of an interrupted call that it was asked for already.
const countedKey = "_weft_budget_counted "

// limited makes a call if there is budget for it. Where a last answer is to come, the call may get a refusal in place
// of an error. A call that is interrupted is asked for once, however often it goes on; one that a handler before this
// one has interrupted was not asked for yet.
func limited[M adk.MessageType, R any](ctx context.Context, m *middleware[M], tCtx *adk.ToolContext, refused func(text string) R, call func() (R, error)) (result R, err error) {
	a := m.account(ctx)
	if a == nil {
		return call()
	}
	key := countedKey + tCtx.CallID
	if !wasCounted(ctx, key) {
		if err := a.begin(ctx, Spent{ToolCalls: 1}); err != nil {
			if m.conf.FinalAnswer && !a.finalTaken() {
				return refused(language.Select(notCalled, notCalledChinese)), nil
			}
			return result, err
		}
		if err := a.save(ctx); err != nil {
			return result, err
		}
	}
	result, err = call()
	if core.IsInterrupt(err) {
		_ = adk.SetRunLocalValue(ctx, key, true)
	}
	return result, err
}

// wasCounted reports whether the call goes on after an interrupt and was asked for before that.
func wasCounted(ctx context.Context, key string) bool {
	if again, _, _ := tool.GetInterruptState[any](ctx); !again {
		return false
	}
	_, counted, err := adk.GetRunLocalValue(ctx, key)
	if counted {
		_ = adk.DeleteRunLocalValue(ctx, key)
	}
	return counted || err != nil
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

// WrapInvokableToolCall asks before each call, and so do the three methods after it.
func (m *middleware[M]) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		return limited(ctx, m, tCtx, refusedText, func() (string, error) { return endpoint(ctx, arguments, opts...) })
	}, nil
}

// WrapStreamableToolCall asks before each call.
func (m *middleware[M]) WrapStreamableToolCall(_ context.Context, endpoint adk.StreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		return limited(ctx, m, tCtx, refusedStream, func() (*schema.StreamReader[string], error) { return endpoint(ctx, arguments, opts...) })
	}, nil
}

// WrapEnhancedInvokableToolCall asks before each call.
func (m *middleware[M]) WrapEnhancedInvokableToolCall(_ context.Context, endpoint adk.EnhancedInvokableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		return limited(ctx, m, tCtx, refusedResult, func() (*schema.ToolResult, error) { return endpoint(ctx, argument, opts...) })
	}, nil
}

// WrapEnhancedStreamableToolCall asks before each call.
func (m *middleware[M]) WrapEnhancedStreamableToolCall(_ context.Context, endpoint adk.EnhancedStreamableToolCallEndpoint, tCtx *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, argument *schema.ToolArgument, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		return limited(ctx, m, tCtx, refusedResults, func() (*schema.StreamReader[*schema.ToolResult], error) { return endpoint(ctx, argument, opts...) })
	}, nil
}
