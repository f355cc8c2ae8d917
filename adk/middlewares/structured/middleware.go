package structured

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// repairsKey is the run-local value of how many answers were sent back.
const repairsKey = "_weft_structured_repairs"

const (
	toolDesc        = "Gives the final answer. Call it once, when the work is done, with the whole answer as arguments. Nothing else ends the work."
	toolDescChinese = "给出最终答案。工作完成后调用一次，以完整答案作为参数。只有调用此工具才能结束工作。"

	asJSON        = "Your final answer must be one JSON value that fits this JSON schema, and nothing else: no explanation, no code fence.\n"
	asJSONChinese = "你的最终答案必须是一个符合以下 JSON schema 的 JSON 值，且不得包含其他内容：不要解释，不要代码块标记。\n"

	repairText        = "This is no valid answer: %s. Give the whole answer again, as JSON that fits the schema."
	repairTextChinese = "该答案无效：%s。请重新给出完整答案，且为符合 schema 的 JSON。"

	repairTool        = "This is no final answer: %s. Call the tool %s to give it."
	repairToolChinese = "这不是最终答案：%s。请调用工具 %s 给出答案。"

	repairCall        = "The answer is not valid: %s. Call the tool again with the whole answer."
	repairCallChinese = "答案无效：%s。请再次调用该工具并给出完整答案。"
)

type handler[M adk.MessageType, T any] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	output *Output[T]
}

// Handler makes the middleware that has agents end with the value.
func (o *Output[T]) Handler() adk.ChatModelAgentMiddleware { return TypedHandler[*schema.Message](o) }

// TypedHandler is [Output.Handler] for any kind of message.
func TypedHandler[M adk.MessageType, T any](o *Output[T]) adk.TypedChatModelAgentMiddleware[M] {
	return &handler[M, T]{output: o}
}

// BeforeAgent adds the tool.
func (h *handler[M, T]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil || h.output.conf.Mode != Tool {
		return ctx, runCtx, nil
	}
	changed := *runCtx
	changed.Tools = append(slices.Clip(runCtx.Tools), h.output.tool)
	changed.ReturnDirectly = maps.Clone(runCtx.ReturnDirectly)
	if changed.ReturnDirectly == nil {
		changed.ReturnDirectly = map[string]bool{}
	}
	changed.ReturnDirectly[h.output.conf.Name] = true
	return ctx, &changed, nil
}

// WrapModel gives the schema to the model, or to its provider.
func (h *handler[M, T]) WrapModel(
	_ context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M],
) (model.BaseModel[M], error) {
	if h.output.conf.Mode == Tool {
		return inner, nil
	}
	return &instructedModel[M, T]{h.output, inner}, nil
}

type instructedModel[M adk.MessageType, T any] struct {
	output *Output[T]
	inner  model.BaseModel[M]
}

func (t *instructedModel[M, T]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	input, opts = t.instructed(input, opts)
	return t.inner.Generate(ctx, input, opts...)
}

func (t *instructedModel[M, T]) Stream(
	ctx context.Context, input []M, opts ...model.Option,
) (*schema.StreamReader[M], error) {
	input, opts = t.instructed(input, opts)
	return t.inner.Stream(ctx, input, opts...)
}

// instructed adds the schema to a call: as options, or as a system message behind the others.
func (t *instructedModel[M, T]) instructed(input []M, opts []model.Option) ([]M, []model.Option) {
	if t.output.conf.Mode == Native {
		return input, append(slices.Clip(opts), t.output.options...)
	}
	behind := slices.IndexFunc(input, func(m M) bool { return message.KindOf(m) != message.System })
	if behind < 0 {
		behind = len(input)
	}
	text := language.Select(asJSON, asJSONChinese) + t.output.text
	if t.output.conf.Description != "" {
		text = t.output.conf.Description + "\n\n" + text
	}
	return slices.Insert(slices.Clone(input), behind, message.NewSystem[M](text)), opts
}

// BeforeFinalAnswer sends an answer back that does not fit.
func (h *handler[M, T]) BeforeFinalAnswer(
	ctx context.Context, state *adk.TypedChatModelAgentState[M],
) (context.Context, adk.FinalAnswerDecision, *adk.TypedChatModelAgentState[M], error) {
	o := h.output
	text, byTool, judge := finalText(state.Messages, o.conf.Name)
	if !judge {
		return ctx, adk.AcceptFinalAnswer, state, nil
	}
	_, err := o.Parse(ctx, text) // also where the model should have called the tool: a value is a value
	if word := cutOff(state.Messages); word != "" && !byTool {
		err = o.invalid(text, "it was cut off ("+word+") before it was complete")
	}
	if err == nil {
		return ctx, adk.AcceptFinalAnswer, state, nil
	}
	if byTool { // the result is words for the model: what it returned says what is wrong
		if _, cause := o.Parse(ctx, lastArguments(state.Messages, o.conf.Name)); cause != nil {
			err = cause
		}
	}
	problem := err.Error()
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		problem = strings.Join(invalid.Problems, "; ")
	}
	if more, countErr := o.countRepair(ctx); countErr != nil || !more {
		return ctx, adk.AcceptFinalAnswer, state, errors.Join(countErr, err)
	}
	if byTool {
		return ctx, adk.RejectFinalAnswer, state, nil // the result of the call says what is wrong
	}
	ask := fmt.Sprintf(language.Select(repairText, repairTextChinese), problem)
	if o.conf.Mode == Tool {
		ask = fmt.Sprintf(language.Select(repairTool, repairToolChinese), problem, o.conf.Name)
	}
	changed := *state
	changed.Messages = append(slices.Clip(state.Messages), message.NewUser[M](ask))
	return ctx, adk.RejectFinalAnswer, &changed, nil
}

// cutOff is the provider's word for why the last answer was cut off, "" if it was not. What can be read of such an answer may
// be a part of what the model meant.
func cutOff[M adk.MessageType](messages []M) string {
	if len(messages) == 0 {
		return ""
	}
	if word := model.FinishWord(messages[len(messages)-1]); model.FinishOf(word).CutOff() {
		return word
	}
	return ""
}

// countRepair reports whether one more answer may be sent back.
func (o *Output[T]) countRepair(ctx context.Context) (more bool, err error) {
	most := defaultMaxRepairs
	if o.conf.MaxRepairs != nil {
		most = *o.conf.MaxRepairs
	}
	value, _, err := adk.GetRunLocalValue(ctx, repairsKey)
	if err != nil {
		return true, nil // outside a run nothing can be counted
	}
	done, _ := value.(int)
	if done >= most {
		return false, nil
	}
	return true, adk.SetRunLocalValue(ctx, repairsKey, done+1)
}

// finalText returns what a run would end with: the result of the tool, or what the model says. A run that another tool
// ends is not judged.
func finalText[M adk.MessageType](messages []M, name string) (text string, byTool, judge bool) {
	if len(messages) == 0 {
		return "", false, true
	}
	last := messages[len(messages)-1]
	if message.KindOf(last) != message.Result {
		return message.Text(last), false, true
	}
	for _, m := range slices.Backward(messages) {
		if message.KindOf(m) != message.Result {
			break
		}
		for _, r := range message.Results(m) {
			if r.Name == name {
				text, _ = message.ResultText(m, r.ID)
				byTool = true
			}
		}
	}
	return text, byTool, byTool
}

// lastArguments are the arguments of the last call of the tool.
func lastArguments[M adk.MessageType](messages []M, name string) string {
	for _, m := range slices.Backward(messages) {
		for _, call := range message.Calls(m) {
			if call.Name == name {
				return call.Arguments
			}
		}
	}
	return ""
}

// answerText returns what a message says, or the result that it has.
func answerText[M adk.MessageType](m M) string {
	for _, r := range message.Results(m) {
		text, _ := message.ResultText(m, r.ID)
		return text
	}
	return message.Text(m)
}

// answerTool takes the value.
type answerTool[T any] struct{ output *Output[T] }

func (a *answerTool[T]) Info(context.Context) (*schema.ToolInfo, error) {
	info := *a.output.info
	if info.Desc = language.Select(toolDesc, toolDescChinese); a.output.conf.Description != "" {
		info.Desc = a.output.conf.Description + "\n\n" + info.Desc
	}
	return &info, nil
}

// Idempotent reports true: the call only says what the value is.
func (a *answerTool[T]) Idempotent() bool { return true }

// InvokableRun returns the value, or what is wrong with it.
func (a *answerTool[T]) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	_, err := a.output.Parse(ctx, arguments)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return fmt.Sprintf(language.Select(repairCall, repairCallChinese), strings.Join(invalid.Problems, "; ")), nil
	}
	return arguments, err
}
