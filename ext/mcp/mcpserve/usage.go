package mcpserve

import (
	"context"
	"sync"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	answers "github.com/weftgo/weft/utils/callbacks"
)

// tally counts what the model calls of a run use, calls of agents and tools inside of it included.
type tally struct {
	// mu guards used, nil as long as no model has said what it used.
	mu   sync.Mutex
	used *schema.TokenUsage
}

// newTally begins with what the run has used before it was interrupted, nil for nothing.
func newTally(before *schema.TokenUsage) *tally {
	t := &tally{}
	t.add(before)
	return t
}

func (t *tally) add(u *schema.TokenUsage) {
	if u == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = &schema.TokenUsage{}
	}
	t.used.Add(u)
}

// total returns what was used until now, nil if no model has said.
func (t *tally) total() *schema.TokenUsage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		return nil
	}
	total := *t.used
	return &total
}

// handler sees the model calls of the run.
func (t *tally) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
			if isModel(info) {
				var answer answers.ModelAnswer
				answer.Add(output)
				t.add(answer.Usage)
			}
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
			output *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			if !isModel(info) {
				output.Close()
				return ctx
			}
			var answer answers.ModelAnswer
			schema.Observe(output, func(chunk callbacks.CallbackOutput) { answer.Add(chunk) },
				func(error) { t.add(answer.Usage) })
			return ctx
		}).Build()
}

func isModel(info *callbacks.RunInfo) bool {
	return info != nil &&
		(info.Component == components.ComponentOfChatModel || info.Component == components.ComponentOfAgenticModel)
}

// usageOf returns the usage in the form that clients read.
func usageOf(u *schema.TokenUsage) *runs.Usage {
	if u == nil {
		return nil
	}
	return &runs.Usage{Input: u.PromptTokens, InputCached: u.PromptTokenDetails.CachedTokens,
		InputCacheWrite: u.PromptTokenDetails.CacheWriteTokens, Output: u.CompletionTokens,
		OutputReasoning: u.CompletionTokensDetails.ReasoningTokens, Total: u.TotalTokens}
}
