package compose

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// cutOffCallType is the RunInfo.Type of calls that are not executed because the answer that makes them was cut off.
const cutOffCallType = "CutOffCall"

// cutOffWord is the provider's word for why an answer was cut off, "" if it was not.
func cutOffWord(answer *schema.Message) string {
	if word := model.FinishWord(answer); word != "" && model.FinishOf(word).CutOff() {
		return word
	}
	return ""
}

// InternalCutOffReason says to a model why a call was not executed: its answer was cut off. word is the provider's word for
// that. It is for the agent runtime.
func InternalCutOffReason(word string) string {
	return fmt.Sprintf(language.Select(cutOffReason, cutOffReasonChinese), word)
}

const (
	notExecuted         = "The call was not executed: "
	notExecutedChinese  = "调用未执行："
	cutOffReason        = "the answer was cut off (%s) before the call was known to be complete. Make it again, with shorter arguments or in several calls."
	cutOffReasonChinese = "回答在该调用完整之前被截断（%s）。请用更短的参数重新调用，或拆分为多次调用。"
)

// InternalSetCutOffCalls sets what makes the result of a call that is not executed because the answer that makes it was cut
// off, instead of the node's own text. It is for the agent runtime and must be called before the node is used.
func InternalSetCutOffCalls(tn *ToolsNode, answer func(ctx context.Context, name, word string) (string, error)) {
	tn.cutOffCall = answer
}

// refusesCutOff reports whether a call must not be executed: the answer was cut off, and the provider did not say that the
// call is complete. The arguments of such a call may be a part of what the model meant, also if they can be read.
func (b *toolBatch) refusesCutOff(tc *schema.ToolCall) bool {
	return b.cutOff != "" && !model.IsWholeCall(tc.Extra)
}

// refuse answers a call instead of its tool.
func (b *toolBatch) refuse(c *toolCall, tc *schema.ToolCall) {
	word, answer := b.cutOff, b.node.cutOffCall
	c.unknown = func(ctx context.Context, name, _ string) (string, error) {
		if answer == nil {
			return language.Select(notExecuted, notExecutedChinese) + InternalCutOffReason(word), nil
		}
		return answer(ctx, name, word)
	}
	c.enter(b.ctx, &callbacks.RunInfo{Name: c.name(), Type: cutOffCallType, Component: components.ComponentOfTool}, true)
	c.arguments = tc.Function.Arguments
	c.input = ToolInput{Name: c.name(), Arguments: c.arguments, CallID: c.callID(), CallOptions: b.options.toolOptions}
}
