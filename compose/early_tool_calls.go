package compose

import (
	"context"
	"errors"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// EarlyToolCall waits for a tool call that was started before the tools node and returns its result, as text or as
// multi-modal parts. An error fails the call; one that asks for an interrupt interrupts it.
type EarlyToolCall func(
	ctx context.Context,
) (text *schema.StreamReader[string], result *schema.StreamReader[*schema.ToolResult], err error)

// ErrToolCallGivenUp is returned by a middleware for a call that it does not wait for any more, because the run
// is to stop. The tools node is interrupted then, with the results that are there; in the resumed run the call starts
// again, and does not find that it was interrupted. It is for the agent runtime.
var ErrToolCallGivenUp = errors.New("the tool call was given up because the run is to stop")

// InternalSetEarlyToolCalls sets what is asked, before the tools of a message run, for the calls that were started
// already: one for each call of the message, by its place, nil for a call that the node has to run. A nil slice means
// none. It is for the agent runtime and must be called before the node is used.
func InternalSetEarlyToolCalls(
	tn *ToolsNode, provider func(ctx context.Context, input *schema.Message) ([]EarlyToolCall, error),
) {
	tn.provider = provider
}

// InternalSetToolExecutionProvider is [InternalSetEarlyToolCalls] for calls that have given their streams, by call ID.
func InternalSetToolExecutionProvider(
	tn *ToolsNode,
	provider func(ctx context.Context, input *schema.Message) (map[string]*schema.StreamReader[string], map[string]*schema.StreamReader[*schema.ToolResult], error),
) {
	tn.provider = nil
	if provider == nil {
		return
	}
	tn.provider = func(ctx context.Context, input *schema.Message) ([]EarlyToolCall, error) {
		texts, results, err := provider(ctx, input)
		if err != nil {
			return nil, err
		}
		calls := make([]EarlyToolCall, len(input.ToolCalls))
		for i := range input.ToolCalls {
			id := input.ToolCalls[i].ID
			text, result := texts[id], results[id]
			if text == nil && result == nil {
				continue
			}
			if text != nil {
				result = nil
			}
			delete(texts, id)
			delete(results, id)
			calls[i] = func(context.Context) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
				return text, result, nil
			}
		}
		return calls, nil
	}
}

// InternalToolsOf returns the tools node inside an agentic one. It is for the agent runtime.
func InternalToolsOf(atn *AgenticToolsNode) *ToolsNode { return atn.tools }

// InternalSetToolsByStream has Invoke of a tools node call the streaming side of tools that have one, and join the
// results, where byStream says so. Callback handlers are shown the results as a stream then. It is for the agent
// runtime, whose middlewares show the streams to the user, and must be called before the node is used.
func InternalSetToolsByStream(tn *ToolsNode, byStream func(ctx context.Context) bool) {
	tn.byStream = byStream
}

// InternalSetWaiter has a tools node run calls that run at the same time beside its goroutine, which waits for them with
// what waiterOf returns, if that is not nil. It is for the agent runtime, and must be called before the node is used.
func InternalSetWaiter(tn *ToolsNode, waiterOf func(ctx context.Context) core.Waiter) {
	tn.waiterOf = waiterOf
}

func (tn *ToolsNode) waiter(ctx context.Context) core.Waiter {
	if tn.waiterOf == nil {
		return nil
	}
	return tn.waiterOf(ctx)
}

// askProvider finds the calls that run already.
func (b *toolBatch) askProvider() error {
	if b.node.provider == nil {
		return nil
	}
	early, err := b.node.provider(b.ctx, b.input)
	if err != nil {
		return err
	}
	for i := range min(len(early), len(b.calls)) {
		b.calls[i].early = early[i]
	}
	return nil
}

// adopt waits for a call that was started early.
func (c *toolCall) adopt() {
	c.textStream, c.resultStream, c.err = c.early(&c.ctx)
	c.enhanced = c.resultStream != nil
	if c.err == nil && c.textStream == nil && c.resultStream == nil {
		c.err = errNilToolOutput
	}
}
