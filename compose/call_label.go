package compose

import (
	"context"

	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/schema"
)

// InternalCallLabel returns the label of a call of an answer, by its place: what tells it from other calls of the answer that
// have its ID. The address of a call has the label. It is for the agent runtime.
func InternalCallLabel(calls []schema.ToolCall, place int) string {
	return callorder.Label(len(calls), place, func(i int) string { return calls[i].ID })
}

// InternalToolCallLabel returns the label of the tool call that ctx belongs to, "" outside one. It is for the agent runtime.
func InternalToolCallLabel(ctx context.Context) string {
	if call := toolCallFrom(ctx); call != nil {
		return call.label()
	}
	return ""
}

type callLabelKey struct{}

// InternalWithCallLabel returns a context in which [InternalStreamSingleToolCall] makes a call with a label of its own. It is
// for the agent runtime.
func InternalWithCallLabel(ctx context.Context, label string) context.Context {
	return context.WithValue(ctx, callLabelKey{}, label)
}

// labelOf is the label of a call of the batch.
func (b *toolBatch) labelOf(calls []schema.ToolCall, place int) string {
	if b.input == nil { // a single call
		if label, ok := b.ctx.Value(callLabelKey{}).(string); ok {
			return label
		}
	}
	return InternalCallLabel(calls, place)
}
