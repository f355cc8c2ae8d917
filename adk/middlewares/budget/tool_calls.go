package budget

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/language"
)

const (
	notCalled        = "This tool was not called: the budget is used up."
	notCalledChinese = "未调用此工具：预算已用完。"
)

// countedKey begins the keys of run-local values that say of an interrupted call that it was asked for already.
const countedKey = "_weft_budget_counted "

// limited makes a call if there is budget for it. Where a last answer is to come, the call may get a refusal instead of
// an error. A call that is interrupted is asked for once, however often it is resumed; one that a handler before this one
// has interrupted was not asked for yet.
func (m *middleware[M]) limited(
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	a := m.account(ctx)
	if a == nil {
		return next(ctx, call)
	}
	key := countedKey + call.CallID
	if !wasCounted(ctx, key) {
		if err := a.begin(ctx, Spent{ToolCalls: 1}); err != nil {
			if m.conf.FinalAnswer && !a.finalTaken() {
				return &compose.ToolCallOutput{Text: language.Select(notCalled, notCalledChinese)}, nil
			}
			return nil, err
		}
		if err := a.save(ctx); err != nil {
			return nil, err
		}
	}
	out, err := next(ctx, call)
	if core.IsInterrupt(err) {
		_ = adk.SetRunLocalValue(ctx, key, true)
	}
	return out, err
}

// wasCounted reports whether the call continues after an interrupt and was asked for before that.
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
