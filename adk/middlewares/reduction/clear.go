package reduction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/schema"
)

const (
	// processedKey marks messages whose calls have been cleared.
	processedKey = "_reduction_mw_processed"
	// notWorthKey is the run-local value of how many messages there were to clear when it gained too little.
	notWorthKey = "_reduction_mw_not_worth"
)

var errNoClearBackend = errors.New("clear: no backend for offload")

// BeforeModelRewriteState takes old results out of a history that has grown too long.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if state == nil || !m.clears {
		return ctx, state, nil
	}
	tokens, err := m.conf.TokenCounter(ctx, state.Messages, state.ToolInfos)
	if err != nil || tokens < m.conf.MaxTokensForClear {
		return ctx, state, err
	}
	start, end := m.clearable(state.Messages)
	if start >= end || m.knownNotWorth(ctx, end) {
		return ctx, state, nil
	}
	c := &clearRun[M]{m: m, messages: slices.Clone(state.Messages[:end])}
	if err := c.run(ctx, start); err != nil {
		return ctx, state, err
	}
	changed := *state
	changed.Messages = append(c.messages, state.Messages[end:]...)
	if least := m.conf.ClearAtLeastTokens; least > 0 {
		left, err := m.conf.TokenCounter(ctx, changed.Messages, state.ToolInfos)
		if err != nil {
			return ctx, state, err
		}
		if tokens-left < least {
			_ = adk.SetRunLocalValue(ctx, notWorthKey, end) // outside a run it is tried again
			return ctx, state, nil
		}
	}
	if !c.changed {
		return ctx, state, nil
	}
	if err := c.offload(ctx); err != nil {
		return ctx, state, err
	}
	if m.conf.ClearPostProcess != nil {
		if next := m.conf.ClearPostProcess(ctx, &changed); next != nil {
			ctx = next
		}
	}
	return ctx, &changed, nil
}

// clearable is the range of messages that may be cleared: from the first assistant message that was not, to the last
// rounds of tool calls, which stay.
func (m *middleware[M]) clearable(messages []M) (start, end int) {
	start = slices.IndexFunc(messages, func(x M) bool { return message.KindOf(x) == message.Assistant && !processed(x) })
	rounds := 0
	for i, x := range slices.Backward(messages) {
		if message.CountCalls(x) == 0 {
			continue
		}
		if rounds++; rounds == m.conf.ClearRetentionSuffixLimit {
			return max(start, 0), i
		}
	}
	return 0, 0
}

func processed[M adk.MessageType](m M) bool {
	done, _ := message.Extra(m)[processedKey].(bool)
	return done
}

// knownNotWorth reports that clearing gained too little before, and that there is nothing more to clear since.
func (m *middleware[M]) knownNotWorth(ctx context.Context, end int) bool {
	if m.conf.ClearAtLeastTokens <= 0 {
		return false
	}
	before, ok, err := adk.GetRunLocalValue(ctx, notWorthKey)
	return err == nil && ok && before == end
}

// clearRun is one pass over the messages that may be cleared.
type clearRun[M adk.MessageType] struct {
	m        *middleware[M]
	messages []M // of the run's own; messages that change are replaced
	files    []file
	changed  bool
}

type file struct {
	backend Backend
	filesystem.WriteRequest
}

func (c *clearRun[M]) run(ctx context.Context, start int) error {
	if c.m.conf.ClearMessageRewriter != nil {
		if err := c.rewrite(ctx, start); err != nil {
			return err
		}
	}
	for i := start; i < len(c.messages); i++ {
		calls := message.Calls(c.messages[i])
		if len(calls) == 0 || processed(c.messages[i]) {
			continue
		}
		if err := c.clearRound(ctx, i, calls); err != nil {
			return err
		}
	}
	return nil
}

// clearRound clears the results of a message with calls.
func (c *clearRun[M]) clearRound(ctx context.Context, at int, calls []message.Call) error {
	places, err := c.resultsBehind(at)
	if err != nil {
		return err
	}
	arguments := map[string]string{}
	for _, call := range calls {
		how := c.m.clearingOf(call.Name)
		place, ok := places[call.ID]
		if how.handler == nil || !ok {
			continue
		}
		view := viewOf(c.messages[place], call.ID)
		if view == nil {
			continue
		}
		done, err := c.handle(ctx, how, call, view)
		if err != nil {
			return err
		}
		if done == nil {
			continue
		}
		if done.ToolArgument != nil && done.ToolArgument.Text != call.Arguments {
			arguments[call.ID] = done.ToolArgument.Text
		}
		if done.ToolResult != nil {
			if c.messages[place], err = replaceResult(c.messages[place], call.ID, view, done.ToolResult); err != nil {
				return fmt.Errorf("clear: the result that the handler of tool %q returned: %w", call.Name, err)
			}
		}
	}
	c.messages[at] = message.WithExtra(withArguments(c.messages[at], arguments), processedKey, true)
	c.changed = true
	return nil
}

// handle asks a handler about a result. It returns nil if the result stays.
func (c *clearRun[M]) handle(
	ctx context.Context, how clearing, call message.Call, view *resultView,
) (*ClearResult, error) {
	done, err := how.handler(ctx, &ToolDetail{
		ToolContext:  &adk.ToolContext{Name: call.Name, CallID: call.ID},
		ToolArgument: &schema.ToolArgument{Text: call.Arguments},
		ToolResult:   &schema.ToolResult{Parts: slices.Clone(view.parts)},
	})
	if err != nil || done == nil || !done.NeedClear {
		return nil, err
	}
	if done.NeedOffload {
		if how.backend == nil {
			return nil, errNoClearBackend
		}
		c.files = append(c.files, file{how.backend,
			filesystem.WriteRequest{FilePath: done.OffloadFilePath, Content: done.OffloadContent}})
	}
	return done, nil
}

// resultsBehind finds the results right behind a message, by the IDs of their calls.
func (c *clearRun[M]) resultsBehind(at int) (map[string]int, error) {
	places := map[string]int{}
	for i := at + 1; i < len(c.messages) && message.KindOf(c.messages[i]) == message.Result; i++ {
		results := message.Results(c.messages[i])
		if len(results) > 1 {
			return nil, fmt.Errorf("clear: multiple FunctionToolResult blocks in one message: %d results, the first of call %q; "+
				"put each into a message of its own", len(results), results[0].ID)
		}
		if _, twice := places[results[0].ID]; !twice {
			places[results[0].ID] = i
		}
	}
	return places, nil
}

func (c *clearRun[M]) offload(ctx context.Context) error {
	for i := range c.files {
		if err := c.files[i].backend.Write(ctx, &c.files[i].WriteRequest); err != nil {
			return err
		}
	}
	return nil
}

// clearDefault replaces the texts of a result: by the way to a file with them, if it can be written.
func (m *middleware[M]) clearDefault(ctx context.Context, detail *ToolDetail, canWrite bool) (*ClearResult, error) {
	parts := slices.Clone(detail.ToolResult.Parts)
	texts := func(p schema.ToolOutputPart) bool {
		return p.Type == schema.ToolPartTypeText && p.Text != "" && !isPlaceholder(p.Text)
	}
	if !slices.ContainsFunc(parts, texts) {
		return nil, nil
	}
	result := &ClearResult{NeedClear: true, ToolArgument: detail.ToolArgument,
		ToolResult: &schema.ToolResult{Parts: parts}}
	placeholder := clearedText()
	if canWrite {
		path, err := m.conf.GenClearOffloadFilePath(ctx, detail)
		if err != nil {
			return nil, err
		}
		content, err := offloadContent(detail.ToolResult.Parts)
		if err != nil {
			return nil, err
		}
		result.NeedOffload, result.OffloadFilePath, result.OffloadContent = true, path, content
		placeholder = saved(path, m.conf.ReadFileToolName)
	}
	for i := range parts {
		if texts(parts[i]) {
			parts[i].Text = placeholder
		}
	}
	return result, nil
}
